/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/refusal.h>
#include <skerry/format.h>

enum { WORD_LONGEST = 40 }; /* of a refusal, so that its reason has room beside the longest name */

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

static bool note(struct refusal *why, const char *node, const char *property, const char *format, va_list args)
{
	write_text(why->text, sizeof why->text, WORD_LONGEST, format, args);
	why->node = why->cause = node;
	why->property = why->cause_property = property;
	return false;
}

bool refuse(struct refusal *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(why, NULL, NULL, format, args);
	va_end(args);
	return false;
}

bool refuse_at(struct refusal *why, const char *node, const char *property, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(why, node, property, format, args);
	va_end(args);
	return false;
}
