/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h: judges a page that carat wrote: is it XML that every reader takes the same way, and does it
 * hold nothing but the elements and attributes that a report needs? Any other name fails, so that no text of
 * a stranger becomes one. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const page_elements[] = {
    "html",       "head",    "meta", "title", "style", "body",  "header",  "p",     "h1",    "h2",
    "h3",         "span",    "b",    "bdi",   "i",     "small", "section", "table", "thead", "tbody",
    "tr",         "th",      "td",   "dl",    "div",   "dt",    "dd",      "code",  "pre",   "figure",
    "figcaption", "article", "mark", "ul",    "li",    "svg",   "g",       "path",  "text",  "rect",
};
static const char *const page_attributes[] = {
    "lang",   "charset",   "http-equiv",   "content", "name",         "class", "scope",
    "data-l", "dir",       "xmlns",        "viewBox", "role",         "d",     "x",
    "y",      "transform", "stroke-width", "fill",    "fill-opacity", "width", "height",
};

struct page {
    const char *s, *at;
    size_t n;
    char open[32][16];
    int depth;
};

/* Says where. */
#define PAGE_CHECK(p, what)                                                                                  \
    do {                                                                                                     \
        if (!(what))                                                                                         \
            fail_msg("%s, at byte %td: %.60s", #what, (p)->at - (p)->s, (p)->at);                            \
    } while (0)

static bool page_listed(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static void page_name(struct page *p, char name[16])
{
    size_t n = strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

    PAGE_CHECK(p, n > 0 && n < 16);
    memcpy(name, p->at, n);
    name[n] = 0;
    p->at += n;
}

/* No bare & or <, and no entity but these. */
static void page_character(struct page *p)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;"};
    size_t i = 0;

    PAGE_CHECK(p, *p->at != '<' && strncmp(p->at, "]]>", 3) != 0);
    while (*p->at == '&' && i < 3 && strncmp(p->at, entities[i], strlen(entities[i])) != 0)
        i++;
    PAGE_CHECK(p, i < 3);
    p->at++;
}

static void page_attribute(struct page *p)
{
    char name[16];

    page_name(p, name);
    PAGE_CHECK(p, page_listed(name, page_attributes, sizeof page_attributes / sizeof *page_attributes));
    PAGE_CHECK(p, p->at[0] == '=' && p->at[1] == '"');
    for (p->at += 2; *p->at != '"';)
        page_character(p);
    p->at++;
}

static void page_tag(struct page *p)
{
    char name[16];

    if (*++p->at == '/') {
        p->at++;
        page_name(p, name);
        PAGE_CHECK(p, *p->at++ == '>' && p->depth > 0 && strcmp(p->open[p->depth - 1], name) == 0);
        p->depth--;
        return;
    }
    page_name(p, name);
    PAGE_CHECK(p, page_listed(name, page_elements, sizeof page_elements / sizeof *page_elements));
    while (*p->at == ' ') {
        p->at++;
        page_attribute(p);
    }
    if (*p->at == '/') {
        p->at++;
    } else {
        PAGE_CHECK(p, p->depth < 32);
        snprintf(p->open[p->depth++], sizeof p->open[0], "%s", name);
    }
    PAGE_CHECK(p, *p->at++ == '>');
}

/* Nobody sees them, or they move what others wrote: none stands there as itself. */
static void page_bytes(struct page *p)
{
    static const char *const odd[] = {
        "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6",
        "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xd8\x9c",
        "\xef\xbb\xbf", "\xe2\x80\x8b", "\xef\xbf\xbe", "\xef\xbf\xbf", "\xc2\x85"};

    for (p->at = p->s; p->at < p->s + p->n; p->at++)
        PAGE_CHECK(p, *p->at == '\n' || *p->at == '\t' || ((unsigned char)*p->at >= 0x20 && *p->at != 0x7f));
    p->at = p->s;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        PAGE_CHECK(p, strstr(p->s, odd[i]) == NULL);
}

/* The whole file, terminated; free it. */
static char *page_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *s;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    s = malloc(*n + 1);
    assert_non_null(s);
    assert_int_equal(fread(s, 1, *n, f), *n);
    s[*n] = 0;
    fclose(f);
    return s;
}

static void page_check(const char *s, size_t n)
{
    static const char start[] = "<!DOCTYPE html>\n";
    struct page p = {.s = s, .at = s, .n = n};

    PAGE_CHECK(&p, n <= 2u << 20 && strlen(s) == n);
    page_bytes(&p);
    p.at = s;
    PAGE_CHECK(&p, strncmp(s, start, strlen(start)) == 0);
    p.at += strlen(start);
    while (*p.at) {
        if (*p.at == '<')
            page_tag(&p);
        else
            page_character(&p);
        PAGE_CHECK(&p, p.depth > 0 || strcmp(p.at, "\n") == 0 || *p.at == 0);
    }
    PAGE_CHECK(&p, p.depth == 0);
    PAGE_CHECK(&p,
               strstr(s, "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src"));
    for (const char *c = s; (c = strstr(c, "xmlns=")); c++)
        PAGE_CHECK(&p, strncmp(c, "xmlns=\"http://www.w3.org/2000/svg\"", 34) == 0);
}

#endif
