/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: see report.h. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

static void put_text(const char *key, const char *s)
{
    printf(", \"%s\": \"", key);
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void put_number(const char *key, int64_t n)
{
    printf(", \"%s\": %lld", key, (long long)n);
}

static void begin(const char *event)
{
    flockfile(stdout);
    printf("{\"event\": \"%s\"", event);
}

static void end(void)
{
    puts("}");
    fflush(stdout);
    funlockfile(stdout);
}

int fetch_refuse(int code, const char *format, ...)
{
    char message[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    begin("error");
    put_number("code", code);
    put_text("message", message);
    end();
    return code;
}

void report_file(const char *name, int64_t bytes, const char *hash)
{
    begin("file");
    put_text("name", name);
    put_number("bytes", bytes);
    put_text("hash", hash);
    end();
}

void report_there(const char *name, int64_t bytes, bool is)
{
    begin("there");
    put_text("name", name);
    put_number("bytes", bytes);
    put_number("is", is);
    end();
}

void report_part(const char *name, int64_t at, const void *data, size_t n)
{
    begin("part");
    put_text("name", name);
    put_number("at", at);
    put_number("raw", (int64_t)n);
    puts("}");
    fwrite(data, 1, n, stdout);
    fflush(stdout);
    funlockfile(stdout);
}

void report_found(const char *name, int64_t downloads, const char *tags)
{
    begin("found");
    put_text("name", name);
    put_number("downloads", downloads);
    put_text("tags", tags);
    end();
}

void report_manifest(const char *text)
{
    begin("manifest");
    put_text("text", text);
    end();
}

void report_listed(const char *commit)
{
    begin("listed");
    put_text("commit", commit);
    end();
}

void report_progress(int64_t done, int64_t total, const struct report_running *file, int n)
{
    begin("progress");
    put_number("done", done);
    put_number("total", total);
    printf(", \"files\": [");
    for (int i = 0; i < n; i++) {
        printf("%s{\"state\": \"%s\"", i ? ", " : "", file[i].state);
        put_text("name", file[i].name);
        put_number("done", file[i].done);
        put_number("bytes", file[i].bytes);
        putchar('}');
    }
    putchar(']');
    end();
}

void report_done(const char *path)
{
    begin("done");
    put_text("path", path);
    end();
}
