/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/error_message.h>
#include <skerry/format.h>

enum { WORD_LONGEST = 40 }; /* of an error, so that its message has room beside the longest name */

/* Strings come from maps, archives and command lines: they come out printable. */
static void write_text(char *out, size_t size, size_t longest, const char *format, va_list args)
{
	struct text text = { .data = out, .size = size - 1 };
	const struct format_sink sink = { .put = text_put, .to = &text, .longest = longest, .printable = true };

	format_to(&sink, format, args);
	out[text.length] = '\0';
}

void format_line(char *out, size_t size, const char *format, va_list args)
{
	write_text(out, size, size, format, args);
}

static bool error_note(struct error_message *err, const char *node, const char *property, const char *format,
		       va_list args)
{
	write_text(err->text, sizeof err->text, WORD_LONGEST, format, args);
	err->node = err->cause = node;
	err->property = err->cause_property = property;
	return false;
}

bool error_set(struct error_message *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_note(err, NULL, NULL, format, args);
	va_end(args);
	return false;
}

bool error_set_at(struct error_message *err, const char *node, const char *property, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_note(err, node, property, format, args);
	va_end(args);
	return false;
}
