/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of HTTP/1.0 and 1.1, as far as a server needs them that answers one
 * request of a connection and closes it: the request line and the header fields
 * are checked (RFC 9112), a body is not read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum http_status {
	HTTP_MORE = 0, /* what is there is good, but not all */
	HTTP_OK = 200,
	HTTP_BAD_REQUEST = 400,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD_NOT_ALLOWED = 405,
	HTTP_TIMEOUT = 408,
	HTTP_TOO_LARGE = 431,
	HTTP_UNAVAILABLE = 503,
	HTTP_VERSION = 505,
};
const char *http_reason(enum http_status);

enum http_resource { HTTP_ROOT, HTTP_METRICS };

struct http_request {
	enum http_resource resource;
	bool head; /* the answer is to have no body */
};

enum { HTTP_REQUEST_MAX = 4096 }; /* bytes of request line and header fields */

/*
 * Parses a request from its first byte. Returns HTTP_MORE, or HTTP_OK with *request, or the status to answer with;
 * request->head then holds, too, as far as the request line came.
 */
enum http_status http_parse(const char *bytes, size_t length, struct http_request *request);

/* The head of an answer with a body of `length` bytes into `to`, which has room for HTTP_HEAD_MAX; its length. */
enum { HTTP_HEAD_MAX = 320 };
size_t http_head(char *to, enum http_status, const char *type, size_t length);
