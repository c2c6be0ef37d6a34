/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.c: what strangers wrote as XML that no browser takes for anything but text, and numbers in
 * as many digits as they deserve. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quality/compare/report_parts.h"

/* ---- text ---- */

enum { MOST_VALUE = 4096 }; /* bytes of XML of a name and the like */

/* Invisible, or moves the text around it. Line ends and tabs are not meant, nor what joins letters and
 * chooses their form. */
static bool is_odd(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0, 8},           {0xb, 0x1f},      {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},
        {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200b},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfdd0, 0xfdef},
        {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return (c & 0xfffe) == 0xfffe;
}

/* A byte as on a terminal, anything else by its number. */
static size_t put_odd(FILE *f, uint32_t c, bool boxed)
{
    char name[16];

    snprintf(name, sizeof name, c < 0x80 ? "\\x%02" PRIx32 : "U+%04" PRIX32, c);
    int n = fprintf(f, boxed ? "<i class=\"odd\">%s</i>" : "%s", name);
    return n > 0 ? (size_t)n : 0;
}

size_t report_text(FILE *f, const char *s, size_t n, size_t most, bool boxed)
{
    size_t taken = 0, written = 0;

    while (taken < n && written < most) {
        uint32_t c;
        int bytes = svg_decode(s + taken, n - taken, &c);
        if (is_odd(c)) {
            written += put_odd(f, c, boxed);
        } else if (bytes == 1) {
            svg_char(f, s[taken]);
            written += 5;
        } else {
            written += fwrite(s + taken, 1, (size_t)bytes, f);
        }
        taken += (size_t)bytes;
    }
    return taken;
}

void report_words(FILE *f, struct words text)
{
    fputs("<bdi>", f);
    if (!text.s)
        fputs("–", f);
    else if (report_text(f, text.s, text.n, MOST_VALUE, true) < text.n)
        fputs("…", f);
    fputs("</bdi>", f);
}

void report_value(FILE *f, const json_t *value)
{
    char *json = NULL;

    if (!json_is_string(value) && !json_is_null(value))
        json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    report_words(f,
                 json ? words_of(json) : (struct words){json_string_value(value), json_string_length(value)});
    free(json);
}

/* ---- numbers ---- */

/* Digits, a minus sign and dots of a number that printf wrote; the minus sign becomes the one of
 * typography. */
static void copy_number(char *out, size_t capacity, const char *digits)
{
    snprintf(out, capacity, "%s%s", *digits == '-' ? "−" : "", digits + (*digits == '-'));
}

const char *power_text(char out[NUMBER_TEXT], int exponent)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[16];

    snprintf(digits, sizeof digits, "%d", exponent < 0 ? -exponent : exponent);
    snprintf(out, NUMBER_TEXT, "10%s", exponent < 0 ? "⁻" : "");
    for (const char *d = digits; *d; d++)
        strcat(out, raised[*d - '0']);
    return out;
}

const char *number_text(char out[NUMBER_TEXT], double value, int digits)
{
    char text[40], power[NUMBER_TEXT];

    if (!isfinite(value)) {
        snprintf(out, NUMBER_TEXT, "–");
        return out;
    }
    snprintf(text, sizeof text, "%.*e", digits - 1, value); /* rounded once: 9.996 is 10.0 */
    int exponent = atoi(strchr(text, 'e') + 1);
    if (value == 0) {
        snprintf(out, NUMBER_TEXT, "0");
    } else if (exponent < -3 || exponent >= 6) {
        *strchr(text, 'e') = 0;
        copy_number(out, NUMBER_TEXT, text);
        snprintf(out + strlen(out), NUMBER_TEXT - strlen(out), "×%s", power_text(power, exponent));
    } else {
        snprintf(text, sizeof text, "%.*f", exponent >= digits - 1 ? 0 : digits - 1 - exponent, value);
        copy_number(out, NUMBER_TEXT, text);
    }
    return out;
}

const char *near_one_text(char out[NUMBER_TEXT], double value)
{
    char rest[NUMBER_TEXT];

    if (value > 0.9999 && value < 1)
        snprintf(out, NUMBER_TEXT, "1\u00a0−\u00a0%.30s", number_text(rest, 1 - value, 2));
    else
        number_text(out, value, 4);
    return out;
}

const char *percent_text(char out[NUMBER_TEXT], double share)
{
    double percent = 100 * share, missing = 100 - percent;
    int digits = 1;

    if (!isfinite(share)) {
        snprintf(out, NUMBER_TEXT, "–");
        return out;
    }
    while (digits < 14 && missing > 0 && missing < 0.6 * pow(10, -digits))
        digits++;
    snprintf(out, NUMBER_TEXT, "%.*f\u00a0%%", percent == 0 || percent == 100 ? 0 : digits, percent);
    return out;
}

const char *count_text(char out[NUMBER_TEXT], int64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && length > 4)
            at += snprintf(out + at, NUMBER_TEXT - (size_t)at, "\u202f");
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}
