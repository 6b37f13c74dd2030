/* SPDX-License-Identifier: BSD-2-Clause */
#include "http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A part of the request. */
struct span {
	const char *at;
	size_t length;
};

static bool span_is(struct span s, const char *text)
{
	return s.length == strlen(text) && !memcmp(s.at, text, s.length);
}
static bool is_any_case(struct span s, const char *text)
{
	return s.length == strlen(text) && !strncasecmp(s.at, text, s.length);
}

static bool is_token(struct span s)
{
	static const char more[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.length; i++) {
		const char c = s.at[i];
		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (c && strchr(more, c))))
			return false;
	}
	return s.length > 0;
}

/* No controls but tabs. */
static bool is_text(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (((unsigned char)s.at[i] < ' ' && s.at[i] != '\t') || s.at[i] == 0x7f)
			return false;
	return true;
}

/* Cuts off and returns the bytes before the first `c`, which goes, too; all where there is none. */
static struct span span_cut(struct span *from, char c)
{
	const char *end = memchr(from->at, c, from->length);
	const struct span part = { from->at, end ? (size_t)(end - from->at) : from->length };
	const size_t gone = part.length + (end != NULL);

	*from = (struct span){ from->at + gone, from->length - gone };
	return part;
}

/* The next line without its end; false when it has not come whole. */
static bool next_line(struct span *rest, struct span *line)
{
	if (!memchr(rest->at, '\n', rest->length))
		return false;
	*line = span_cut(rest, '\n');
	if (line->length && line->at[line->length - 1] == '\r')
		line->length--;
	return true;
}

static enum http_status find_resource(struct span target, enum http_resource *resource)
{
	/* as proxies ask: the path follows the authority */
	if (target.length > 7 && !strncasecmp(target.at, "http://", 7)) {
		const char *path = memchr(target.at + 7, '/', target.length - 7);
		target = path ? (struct span){ path, (size_t)(target.at + target.length - path) }
		         : (struct span){ "/", 1 };
	}
	if (!target.length || target.at[0] != '/')
		return HTTP_BAD_REQUEST;
	const struct span path = span_cut(&target, '?');
	*resource = span_is(path, "/metrics") ? HTTP_METRICS : HTTP_ROOT;
	return *resource == HTTP_METRICS || span_is(path, "/") ? HTTP_OK : HTTP_NOT_FOUND;
}

/* "GET /metrics HTTP/1.1". *minor: of the version. */
static enum http_status request_line(struct span line, struct http_request *request, unsigned *minor)
{
	const struct span method = span_cut(&line, ' '), target = span_cut(&line, ' '), version = line;

	if (!is_token(method) || !target.length || !is_text(target) || memchr(target.at, '\t', target.length))
		return HTTP_BAD_REQUEST;
	if (version.length != 8 || memcmp(version.at, "HTTP/", 5) || version.at[6] != '.' || version.at[5] < '0' ||
	    version.at[5] > '9' || version.at[7] < '0' || version.at[7] > '9')
		return HTTP_BAD_REQUEST;
	if (version.at[5] != '1')
		return HTTP_VERSION;
	*minor = (unsigned)(version.at[7] - '0');
	request->head = span_is(method, "HEAD");
	const enum http_status result = find_resource(target, &request->resource);
	return result == HTTP_OK && !request->head && !span_is(method, "GET") ? HTTP_METHOD_NOT_ALLOWED : result;
}

/* "Name: value". Counts Host, of which there is one. */
static bool header_field(struct span line, unsigned *hosts)
{
	if (!memchr(line.at, ':', line.length))
		return false;
	const struct span name = span_cut(&line, ':');
	*hosts += is_any_case(name, "Host");
	return is_token(name) && is_text(line);
}

static enum http_status read_headers(struct span rest, unsigned minor)
{
	struct span line;
	unsigned hosts = 0;

	while (next_line(&rest, &line)) {
		if (!line.length)
			return hosts > 1 || (minor && !hosts) ? HTTP_BAD_REQUEST : HTTP_OK;
		if (!header_field(line, &hosts))
			return HTTP_BAD_REQUEST;
	}
	return HTTP_MORE;
}

/* A line that cannot become good any more is refused before its end has come. */
static bool is_hopeless(struct span rest)
{
	struct span line = rest;
	const bool line_end = rest.length == 1 && rest.at[0] == '\r';

	return rest.length && !line_end && !is_token(span_cut(&line, ' '));
}

enum http_status http_parse(const char *bytes, size_t length, struct http_request *request)
{
	struct span rest = { bytes, length }, line = { bytes, 0 };
	unsigned minor = 0;
	const size_t most = length < HTTP_REQUEST_MAX ? length : HTTP_REQUEST_MAX;

	*request = (struct http_request){ .resource = HTTP_ROOT };
	rest.length = most;
	for (unsigned empty = 0; !line.length && empty < 2; empty++) /* one empty line before the request is forgiven */
		if (!next_line(&rest, &line)) {
			if (is_hopeless(rest))
				return HTTP_BAD_REQUEST;
			return length >= HTTP_REQUEST_MAX ? HTTP_TOO_LARGE : HTTP_MORE;
		}
	const enum http_status first = request_line(line, request, &minor);
	if (first == HTTP_BAD_REQUEST || first == HTTP_VERSION)
		return first;
	const enum http_status fields = read_headers(rest, minor);
	if (fields == HTTP_MORE)
		return length >= HTTP_REQUEST_MAX ? HTTP_TOO_LARGE : HTTP_MORE;
	return fields == HTTP_OK ? first : fields;
}

const char *http_reason(enum http_status status)
{
	switch (status) {
	case HTTP_OK: return "OK";
	case HTTP_BAD_REQUEST: return "Bad Request";
	case HTTP_NOT_FOUND: return "Not Found";
	case HTTP_METHOD_NOT_ALLOWED: return "Method Not Allowed";
	case HTTP_TIMEOUT: return "Request Timeout";
	case HTTP_TOO_LARGE: return "Request Header Fields Too Large";
	case HTTP_UNAVAILABLE: return "Service Unavailable";
	case HTTP_VERSION: return "HTTP Version Not Supported";
	case HTTP_MORE: break;
	}
	return "";
}

size_t http_head(char *to, enum http_status status, const char *type, size_t length)
{
	const int size = snprintf(to, HTTP_HEAD_MAX,
				  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sCache-Control: "
				  "no-store\r\n"
				  "Connection: close\r\n\r\n",
				  (int)status, http_reason(status), type, length,
				  status == HTTP_METHOD_NOT_ALLOWED ? "Allow: GET, HEAD\r\n" : "");

	return size > 0 && size < HTTP_HEAD_MAX ? (size_t)size : 0;
}
