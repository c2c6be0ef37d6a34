/* SPDX-License-Identifier: Apache-2.0 */
/* receipt.c: see receipt.h. The file has a line as soon as its answer has ended. */
#define _POSIX_C_SOURCE 200809L
#include "ask/receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/save.h"
#include "term/message.h"

/* The options about receipts. */
#define AT(field) offsetof(struct receipt_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 72, {"--receipt"}, WRITES, AT(file), GENERATES, "FILE", NULL,
     "write a receipt of each answer, a line of JSON that carat replay can check", 0, 0},
    {ABOUT_OUTPUT + 74, {"--receipt-private"}, FLAG, AT(is_private), "/ " GENERATES, NULL, NULL,
     "with --receipt: of prompt and answer only salted SHA-256", 0, 0},
    {ABOUT_INPUT + 960, {"--prompt-ids"}, IDS, AT(prompt), "replay", "IDS", NULL,
     "the prompt's ids, of a private receipt: numbers, @FILE, or - for standard input", 0, 0},
    {ABOUT_INPUT + 961, {"--answer-ids"}, IDS, AT(answer), "replay", "IDS", NULL,
     "the answer's ids, of a private receipt", 0, 0},
    {ABOUT_COMPARISON + 300, {"--states"}, FLAG, AT(states), "replay", NULL, NULL,
     "compare digests of states alone, and draw no id: faster", 0, 0},
    {ABOUT_COMPARISON + 310, {"--sample"}, REAL, AT(sample), "replay", "P", "1",
     "draw only this share of ids, chosen at random; all states are compared (default {default})", 1e-6, 1},
    {ABOUT_COMPARISON + 320, {"--trace"}, WRITES, AT(trace), "replay", "FILE", NULL,
     "write hashes of what every operation gives where the receipt differs, for --against", 0, 0},
    {ABOUT_COMPARISON + 330, {"--against"}, READS, AT(against), "replay", "FILE", NULL,
     "name the first operation that gives something else than in this trace, of another machine", 0, 0},
};
/* clang-format on */

const struct option_group receipt_group = OPTION_GROUP(rows, struct receipt_options, NULL);

enum { SALT = 16 };

int receipts_check(const struct options *o, bool shifts)
{
    const char *file = o->receipt->file;

    if (o->receipt->is_private && !file)
        return term_fail(USAGE, "option --receipt-private needs --receipt");
    if (file && shifts)
        return term_fail(
            USAGE, "options --receipt and --context-shift: a receipt is of one text, and what is behind "
                   "a shift continues another one");
    return file && strcmp(file, "-") != 0 ? check_writable("option --receipt", file) : DONE;
}

static int read_salt(uint8_t salt[SALT])
{
    const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 && read(fd, salt, SALT) == SALT;

    if (fd >= 0)
        close(fd);
    return good ? DONE : term_fail(FAILED, "/dev/urandom: cannot be read: %s", strerror(errno));
}

int receipts_create(struct receipts *r, const struct options *o)
{
    const char *path = o->receipt->file;

    if (path)
        r->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    return r->file || !path ? DONE : term_fail(FAILED, "cannot create %s: %s", path, strerror(errno));
}

int receipts_begin(struct receipts *r, const struct options *o, carat_generation *g,
                   const carat_constraint_options *form)
{
    uint8_t salt[SALT];
    carat_receipt_options options;
    carat_error err;

    if (!o->receipt->file)
        return DONE;
    if (!r->file)
        TRY(receipts_create(r, o));
    carat_receipt_options_default(&options);
    options.previous = *r->previous ? r->previous : NULL;
    options.form = form;
    if (o->receipt->is_private) {
        TRY(read_salt(salt));
        options.is_private = 1;
        options.salt = salt;
    }
    return carat_receipt_begin(&r->under_way, g, &options, &err) == CARAT_OK ? DONE : fail_status(&err);
}

int receipts_write(struct receipts *r, const struct options *o, const char *text)
{
    return fputs(text, r->file) >= 0 && fputc('\n', r->file) != EOF && fflush(r->file) == 0
               ? DONE
               : term_fail(FAILED, "cannot write %s: %s", o->receipt->file, strerror(errno));
}

/* The line of a receipt that is finished. */
static int give_line(struct receipts *r, const struct options *o)
{
    carat_receipt_info info;
    carat_receipt_info_default(&info);
    carat_error err;
    char *text = NULL;
    int code = DONE;

    if (carat_receipt_write(r->under_way, &text, NULL, &err) != CARAT_OK ||
        carat_receipt_get_info(r->under_way, &info, &err) != CARAT_OK) {
        carat_free(text);
        return fail_status(&err);
    }
    memcpy(r->previous, info.digest, sizeof r->previous);
    if (r->keeps) {
        carat_free(r->kept);
        r->kept = text;
        return DONE;
    }
    code = receipts_write(r, o, text);
    carat_free(text);
    return code;
}

int receipts_end(struct receipts *r, const struct options *o)
{
    carat_error err;
    int code = DONE;

    if (!r->under_way)
        return DONE;
    if (carat_receipt_finish(r->under_way, &err) != CARAT_OK)
        term_note("no receipt: %s", err.message); /* nothing was drawn */
    else
        code = give_line(r, o);
    carat_receipt_close(r->under_way);
    r->under_way = NULL;
    return code;
}

void receipts_forget(struct receipts *r)
{
    *r->previous = 0;
}

int receipts_close(struct receipts *r, const struct options *o)
{
    carat_receipt_close(r->under_way);
    r->under_way = NULL;
    carat_free(r->kept);
    r->kept = NULL;
    const bool closed = !r->file || r->file == stdout || fclose(r->file) == 0;
    r->file = NULL;
    return closed ? DONE : term_fail(FAILED, "cannot write %s: %s", o->receipt->file, strerror(errno));
}
