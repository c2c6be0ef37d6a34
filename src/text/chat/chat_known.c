/* SPDX-License-Identifier: Apache-2.0 */
/* chat_known.c: the published chat templates, known by the hash of their text without the white space that
 * Jinja ignores. chat_detect.c decides which built-in template stands for any other text; MODEL.md says where
 * each of these was read. */
#include "text/chat/chat_parts.h"

#include "base/hash.h"

static const struct known {
    uint64_t hash;
    struct ct_chat_known is;
} templates[] = {
    {0x17de706b194586c4, {CT_CHAT_GEMMA, "Google's for Gemma 1 of February 2024", 0}},
    {0x43dcc9a965d6587b, {CT_CHAT_GEMMA, "Google's for Gemma 1 and 2 of April 2024", 0}},
    {0xf7c60b77a3f0f6f9, {CT_CHAT_GEMMA3, "Google's for Gemma 3 of March 2025", 0}},
    {0x20386157476badf5,
     {CT_CHAT_GEMMA4_SMALL, "Google's for Gemma 4 of early April 2026", CT_GEMMA4_APRIL_2}},
    {0x712439ee7f62dccd,
     {CT_CHAT_GEMMA4, "Google's for large Gemma 4 of early April 2026", CT_GEMMA4_APRIL_2}},
    {0xa7892973cf3dd318,
     {CT_CHAT_GEMMA4_SMALL, "Google's for Gemma 4 E2B and E4B of April 10, 2026", CT_GEMMA4_APRIL_10}},
    {0x12fc7dabebcf9289,
     {CT_CHAT_GEMMA4, "Google's for large Gemma 4 of April 10, 2026", CT_GEMMA4_APRIL_10}},
    {0xd8e6d2962dcbcfb3,
     {CT_CHAT_GEMMA4_SMALL, "Google's for Gemma 4 E2B and E4B of April 29, 2026", CT_GEMMA4_APRIL_29}},
    {0xdd8cc4443faf6f35,
     {CT_CHAT_GEMMA4, "Google's for large Gemma 4 of April 29, 2026", CT_GEMMA4_APRIL_29}},
    {0xc93f7f03f7d48f81,
     {CT_CHAT_GEMMA4_SMALL, "Google's for Gemma 4 E2B and E4B of July 9, 2026", CT_GEMMA4_JULY_9}},
    {0xa17d218a025fb05e, {CT_CHAT_GEMMA4, "Google's for large Gemma 4 of July 9, 2026", CT_GEMMA4_JULY_9}},
    {0x2dfae4503b71b372,
     {CT_CHAT_GEMMA4, "llama.cpp's for Gemma 4, with thoughts between calls", CT_GEMMA4_INTERLEAVED}},
    {0x05a8a59f16d60db1, {CT_CHAT_FUNCTIONGEMMA, "that of carat's own tiny", 0}},
};

/* ---- the normal form: without what Jinja ignores, every line break as one character ---- */

static bool is_template_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct walk {
    const char *at, *end;
    bool trims; /* the tag before ends with '-' */
    struct ct_hash state;
};

static void template_put(struct walk *w, const char *s, const char *end)
{
    for (const char *from = s; s < end; from = s) { /* without the CR of CR LF */
        while (s < end && !(*s == '\r' && s + 1 < end && s[1] == '\n'))
            s++;
        ct_hash_add(&w->state, from, (size_t)(s - from));
        s += s < end;
    }
}

/* A quoted text: white space in it counts, and \n is the character that it spells. */
static void template_quoted(struct walk *w, const char *end)
{
    static const char newline[] = "\n";
    const char quote = *w->at, *from = w->at++;
    for (; w->at < end && *w->at != quote; w->at++) {
        if (*w->at != '\\' || w->at + 1 == end)
            continue;
        if (w->at[1] == 'n') {
            template_put(w, from, w->at);
            template_put(w, newline, newline + 1);
            from = w->at + 2;
        }
        w->at++;
    }
    w->at = CT_MIN(w->at + 1, end);
    template_put(w, from, w->at);
}

/* The end of the tag that begins at s, behind its closing brackets; NULL: it does not end. */
static const char *tag_end(const char *s, const char *end)
{
    const char kind = s[1], close = kind == '{' ? '}' : kind;
    for (s += 2; end - s >= 2; s++) {
        if (s[0] == close && s[1] == '}')
            return s + 2;
        if (kind == '#' || (*s != '\'' && *s != '"'))
            continue;
        for (const char quote = *s++; s < end && *s != quote; s++)
            s += *s == '\\' && s + 1 < end;
    }
    return NULL;
}

static bool is_tag(const char *s, const char *end)
{
    return end - s >= 2 && s[0] == '{' && (s[1] == '%' || s[1] == '{' || s[1] == '#');
}

/* The text up to the next tag, without what the tags on both sides take away. */
static void template_text(struct walk *w)
{
    const char *from = w->at;
    while (w->at < w->end && !is_tag(w->at, w->end))
        w->at++;
    const char *to = w->at;
    while (w->trims && from < to && is_template_blank(*from))
        from++;
    bool trimmed = w->end - to > 2 && to[2] == '-';
    while (trimmed && from < to && is_template_blank(to[-1]))
        to--;
    if (to == w->end && from < to && to[-1] == '\n') /* the last line break of a template is never printed */
        to -= to - from > 1 && to[-2] == '\r' ? 2 : 1;
    template_put(w, from, to);
}

/* A tag without the white space around its words; nothing of a comment. */
static void template_tag(struct walk *w)
{
    const char *end = tag_end(w->at, w->end);
    if (!end) { /* no template: whatever follows counts as it is */
        template_put(w, w->at, w->end);
        w->at = w->end;
        return;
    }
    const char *open = w->at, *last = end - 2;
    bool comment = open[1] == '#';
    w->at += 2;
    w->at += w->at < last && *w->at == '-';
    w->trims = last > w->at && last[-1] == '-';
    last -= w->trims;
    if (!comment)
        template_put(w, open, open + 2);
    while (!comment && w->at < last) {
        if (*w->at == '\'' || *w->at == '"') {
            template_quoted(w, last);
        } else {
            if (!is_template_blank(*w->at))
                template_put(w, w->at, w->at + 1);
            w->at++;
        }
    }
    if (!comment)
        template_put(w, end - 2, end);
    w->at = end;
}

uint64_t ct_chat_hash(struct ct_str text)
{
    struct walk w = {.at = text.s, .end = text.s + text.n};
    ct_hash_begin(&w.state);
    while (w.at < w.end) {
        template_text(&w);
        if (w.at < w.end)
            template_tag(&w);
    }
    return ct_hash_end64(&w.state);
}

const struct ct_chat_known *ct_chat_find(struct ct_str text)
{
    uint64_t hash = ct_chat_hash(text);
    for (size_t i = 0; i < CT_COUNT(templates); i++)
        if (templates[i].hash == hash)
            return &templates[i].is;
    return NULL;
}
