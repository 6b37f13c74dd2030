/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "../ycsb/test.h"
#include "http.h"

static const struct {
	const char *request;
	enum http_status status;
	enum http_resource resource;
	bool head;
} whole[] = {
	{ "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_OK, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.0\r\n\r\n", HTTP_OK, HTTP_METRICS, false },
	{ "HEAD /metrics HTTP/1.1\r\nHost:\r\n\r\n", HTTP_OK, HTTP_METRICS, true },
	{ "\r\nGET / HTTP/1.1\nhost: b\n\n", HTTP_OK, HTTP_ROOT, false },
	{ "GET /metrics?name=x HTTP/1.1\r\nAccept: */*\r\nHOST: a\r\n\r\n", HTTP_OK, HTTP_METRICS, false },
	{ "GET http://10.0.2.151:9100/metrics HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_OK, HTTP_METRICS, false },
	{ "GET http://10.0.2.151 HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_OK, HTTP_ROOT, false },
	{ "GET /metrics HTTP/1.9\r\nHost: a\r\n\r\nbody", HTTP_OK, HTTP_METRICS, false },
	{ "GET /metric HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_NOT_FOUND, HTTP_ROOT, false },
	{ "POST /other HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_NOT_FOUND, HTTP_ROOT, false },
	{ "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", HTTP_METHOD_NOT_ALLOWED, HTTP_METRICS,
	  false },
	{ "get /metrics HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_METHOD_NOT_ALLOWED, HTTP_METRICS, false },
	{ "GET /metrics HTTP/2.0\r\nHost: a\r\n\r\n", HTTP_VERSION, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", HTTP_BAD_REQUEST, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.1\r\nHost : a\r\n\r\n", HTTP_BAD_REQUEST, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", HTTP_BAD_REQUEST, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.1\r\nHost: a\rb\r\n\r\n", HTTP_BAD_REQUEST, HTTP_METRICS, false },
	{ "GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", HTTP_BAD_REQUEST, HTTP_METRICS, false },
	{ "GET /metrics\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "GET  /metrics HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "GET /metrics HTTP/1.1 \r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "GET metrics HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "GET /me\ttrics HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "GET /metrics HTTP/x.1\r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "PING\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "*1\r\n$4\r\nPING\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
	{ "\x16\x03\x01", HTTP_BAD_REQUEST, HTTP_ROOT, false }, /* TLS */
	{ "\r\n\r\nGET / HTTP/1.0\r\n\r\n", HTTP_BAD_REQUEST, HTTP_ROOT, false },
};

/* A copy without a byte behind it, for the sanitizer. */
static enum http_status parse(const char *bytes, size_t length, struct http_request *request)
{
	char *copy = malloc(length + !length);
	memcpy(copy, bytes, length);
	const enum http_status status = http_parse(copy, length, request);
	free(copy);
	return status;
}

static void check_whole(void)
{
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		struct http_request request;
		const enum http_status status = parse(whole[i].request, strlen(whole[i].request), &request);
		CHECK(status == whole[i].status, "%d for %s", status, whole[i].request);
		if (status == HTTP_OK)
			CHECK(request.resource == whole[i].resource && request.head == whole[i].head, "%s",
			      whole[i].request);
	}
}

/* However a request is cut, its beginning is good as long as the whole is, and never more than that. */
static void check_pieces(void)
{
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		const char *end = strstr(whole[i].request + 2, "\n\r\n");
		for (size_t length = 0; length < strlen(whole[i].request); length++) {
			struct http_request request;
			const enum http_status status = parse(whole[i].request, length, &request);
			if (whole[i].status == HTTP_OK && end && whole[i].request + length < end + 3)
				CHECK(status == HTTP_MORE, "%d after %zu bytes of %s", status, length,
				      whole[i].request);
			else
				CHECK(status == HTTP_MORE || status == whole[i].status, "%d after %zu bytes of %s",
				      status, length, whole[i].request);
		}
	}
}

static void check_long(void)
{
	static char endless[2 * HTTP_REQUEST_MAX] = "GET /metrics HTTP/1.1\r\nHost: a\r\nX: ";
	struct http_request request;

	memset(endless + strlen(endless), 'x', sizeof(endless) - strlen(endless));
	CHECK(parse(endless, HTTP_REQUEST_MAX - 1, &request) == HTTP_MORE, "there may be more");
	CHECK(parse(endless, HTTP_REQUEST_MAX, &request) == HTTP_TOO_LARGE, "a header field without end");
	memset(endless, 'x', sizeof(endless));
	CHECK(parse(endless, sizeof(endless), &request) == HTTP_TOO_LARGE, "a method without end");
}

/* Changed bytes: an answer, and no byte read that is not there. */
static void check_junk(void)
{
	srand(7);
	for (unsigned i = 0; i < 200000; i++) {
		char bytes[128];
		struct http_request request;
		const char *good = whole[(unsigned)rand() % (sizeof(whole) / sizeof(whole[0]))].request;
		const size_t length = strlen(good) < sizeof(bytes) ? strlen(good) : sizeof(bytes);
		memcpy(bytes, good, length);
		for (int changes = rand() % 4; changes >= 0; changes--)
			bytes[(size_t)rand() % length] = (char)rand();
		const enum http_status status = parse(bytes, length, &request);
		CHECK(status == HTTP_MORE || status == HTTP_OK || *http_reason(status), "%d is no status", status);
	}
}

static void check_head(void)
{
	static const enum http_status all[] = { HTTP_OK, HTTP_BAD_REQUEST, HTTP_NOT_FOUND, HTTP_METHOD_NOT_ALLOWED,
						HTTP_TIMEOUT, HTTP_TOO_LARGE, HTTP_UNAVAILABLE, HTTP_VERSION };
	char head[HTTP_HEAD_MAX];

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CHECK(http_head(head, all[i], "text/plain; version=0.0.4; charset=utf-8", 8 << 20), "%d has no room",
		      all[i]);
}

int main(void)
{
	check_whole();
	check_pieces();
	check_long();
	check_junk();
	check_head();
}
