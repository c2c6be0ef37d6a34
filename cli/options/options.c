/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: the parser that reads argv by the table of option_table.c. Numbers are taken strictly: the whole
 * word, in range, or exit 2 with the option's name. What options mean is the verbs' business. */
#include "options/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/save.h"
#include "model/head.h"
#include "options/written.h"
#include "term/exit.h"
#include "term/message.h"

/* Does the word of n bytes name this option? */
static bool names(const struct option *option, const char *word, size_t n)
{
    for (int i = 0; i < MOST_NAMES && option->names[i]; i++) {
        if (strlen(option->names[i]) == n && memcmp(option->names[i], word, n) == 0)
            return true;
    }
    return false;
}

static const struct option *find(enum verb verb, const char *word, size_t n)
{
    for (int i = 0; i < option_count; i++) {
        if (option_table[i].verbs & ON(verb) && names(&option_table[i], word, n))
            return &option_table[i];
    }
    return NULL;
}

bool option_is_known(enum verb verb, const char *name)
{
    return find(verb, name, strlen(name)) != NULL;
}

/* Spelling i of the verb that user points at. */
static const char *spelling(void *user, int i)
{
    enum verb verb = *(enum verb *)user;

    for (int k = 0; k < option_count; k++) {
        for (int j = 0; option_table[k].verbs & ON(verb) && j < MOST_NAMES && option_table[k].names[j]; j++) {
            if (i-- == 0)
                return option_table[k].names[j];
        }
    }
    return NULL;
}

static int unknown(enum verb verb, const char *word, size_t n)
{
    char name[64];
    const char *meant = NULL;

    if (n < sizeof name) {
        memcpy(name, word, n);
        name[n] = 0;
        meant = nearest(name, spelling, &verb);
    }
    if (meant)
        return fail(USAGE, "%s: unknown option '%.*s'; did you mean %s?", verb_texts[verb].name,
                    (int)(n < 80 ? n : 80), word, meant);
    return fail(USAGE, "%s: unknown option '%.*s'; 'carat help %s' lists them", verb_texts[verb].name,
                (int)(n < 80 ? n : 80), word, verb_texts[verb].name);
}

/* Decimal digits with an optional minus: strtoll alone would take leading space, a plus and hexadecimal. */
static bool parse_int64(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '-');
    char *end;

    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    *value = parsed;
    return errno == 0 && *end == 0;
}

/* Decimal notation only; inf and nan are no numbers here. */
static bool parse_real(const char *text, double *value)
{
    char *end;

    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == 0 && *value - *value == 0;
}

/* "2G", "1.5GiB", "800M", "4096". */
static bool parse_size(const char *text, double *value)
{
    static const char units[] = "KMGT";
    size_t n = strspn(text, "0123456789.");
    char number[32];
    const char *unit = NULL;

    if (n == 0 || n >= sizeof number || text[0] == '.')
        return false;
    memcpy(number, text, n);
    number[n] = 0;
    text += n;
    if (*text && (unit = strchr(units, *text & ~0x20)) != NULL)
        text++;
    if (unit && *text == 'i' && (text[1] & ~0x20) == 'B')
        text++;
    if ((*text & ~0x20) == 'B')
        text++;
    if (*text || !parse_real(number, value))
        return false;
    for (int i = 0; unit && i <= unit - units; i++)
        *value *= 1024;
    return true;
}

bool may_stand_alone(const struct option *option)
{
    return option->kind == SWITCH || option->kind == MAYBE_SIZE;
}

/* Is the word a value for an option that may stand alone? */
static bool is_value(const struct option *option, const char *word)
{
    double size;

    return option->kind == SWITCH ? is_choice(option->value, word) : parse_size(word, &size);
}

bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = choices; n > 0; p++) {
        size_t length = strcspn(p, "|");
        if (length == n && memcmp(p, word, n) == 0)
            return true;
        p += length;
        if (!*p)
            break;
    }
    return false;
}

const char *choices_text(char out[CHOICES_TEXT], const char *choices)
{
    size_t n = 0;

    for (; *choices && n + 3 < CHOICES_TEXT; choices++) {
        out[n++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            out[n++] = ' ';
    }
    out[n] = 0;
    return out;
}

static int store_amount(struct amount *field, const struct option *option, const char *what, const char *text)
{
    bool bytes = strspn(text, "0123456789") != strlen(text);
    double real;

    if (!parse_size(text, &real) || real < 1 || real > (bytes ? 0x1p60 : option->high))
        return fail(USAGE, "%s: '%.80s' is not a whole number from %.0f to %.0f, nor bytes as in 800M or 2G",
                    what, text, option->low, option->high);
    *field = (struct amount){(uint64_t)real, bytes};
    return DONE;
}

static int store_text(struct texts *field, const struct option *option, const char *what, const char *text)
{
    if (field->n == (int)option->high)
        return fail(USAGE, "%s: '%.80s' is one too many, at most %d are taken", what, text,
                    (int)option->high);
    field->text[field->n++] = text;
    return DONE;
}

int option_store(struct options *o, const struct option *option, const char *what, const char *text)
{
    void *field = (char *)o + option->field;
    char choices[CHOICES_TEXT];
    int64_t integer;
    double real;

    switch (option->kind) {
    case FLAG:
        *(bool *)field = true;
        return DONE;
    case TEXT:
    case MODEL:
    case PATH:
    case READS:
    case WRITES:
        *(const char **)field = text;
        return DONE;
    case TEXTS:
        return store_text(field, option, what, text);
    case CHOICE:
    case SWITCH:
        if (!is_choice(option->value, text) && !head_is_foreign(option, text))
            return fail(USAGE, "%s: '%.80s' must be one of %s", what, text,
                        choices_text(choices, option->value));
        *(const char **)field = text;
        return DONE;
    case INT:
        if (!parse_int64(text, &integer) || integer < (int64_t)option->low || integer > (int64_t)option->high)
            return fail(USAGE, "%s: '%.80s' is not a whole number from %.0f to %.0f", what, text, option->low,
                        option->high);
        *(int *)field = (int)integer;
        return DONE;
    case INTS:
        for (const char *at = text;; at++) {
            size_t n = strcspn(at, ",");
            char number[24];
            snprintf(number, sizeof number, "%.*s", (int)n, at);
            if (n >= sizeof number || !parse_int64(number, &integer) || integer < (int64_t)option->low ||
                integer > (int64_t)option->high)
                return fail(USAGE, "%s: '%.80s' is not a list of whole numbers from %.0f to %.0f, as in 1,2",
                            what, text, option->low, option->high);
            if (!*(at += n))
                break;
        }
        *(const char **)field = text;
        return DONE;
    case OFF_OR_INT:
        integer = 0;
        if (strcmp(text, "off") != 0 && (!parse_int64(text, &integer) || integer < (int64_t)option->low ||
                                         integer > (int64_t)option->high))
            return fail(USAGE, "%s: '%.80s' is neither off nor a whole number from %.0f to %.0f", what, text,
                        option->low, option->high);
        *(int *)field = (int)integer;
        return DONE;
    case INT64:
        if (!parse_int64(text, &integer) || integer < -1)
            return fail(USAGE, "%s: '%.80s' is not a whole number from -1 to %lld", what, text,
                        (long long)INT64_MAX);
        *(int64_t *)field = integer;
        return DONE;
    case REAL:
    case REAL_OR_0:
        if (!parse_real(text, &real) ||
            ((real < option->low || real > option->high) && !(option->kind == REAL_OR_0 && real == 0)))
            return fail(USAGE, "%s: '%.80s' is not %sa number from %g to %g", what, text,
                        option->kind == REAL ? "" : "0 or ", option->low, option->high);
        *(double *)field = real;
        return DONE;
    case SIZE:
    case MAYBE_SIZE:
        if (!parse_size(text, &real) || real < option->low || real > option->high)
            return fail(USAGE, "%s: '%.80s' is not a size from %.0f to %.0f bytes, as in 800M or 2G", what,
                        text, option->low, option->high);
        *(uint64_t *)field = (uint64_t)real;
        return DONE;
    case AMOUNT:
        return store_amount(field, option, what, text);
    }
    return DONE;
}

/* Where the parser stands. */
struct parse {
    struct options *o;
    enum verb verb;
    int argc, at; /* argv[at] is being read */
    char **argv;
    char ignored[512]; /* llama.cpp's options that were accepted, for the note */
};

static int take_foreign(struct parse *p, const struct foreign *f, size_t n, const char *attached)
{
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    size_t used = strlen(p->ignored);
    char name[64];
    bool took_next = false;
    int code;

    snprintf(name, sizeof name, "%.*s", (int)n, p->argv[p->at]);
    code = foreign_take(f, verb_texts[p->verb].name, name, attached, next, &took_next);
    if (code == DONE)
        snprintf(p->ignored + used, sizeof p->ignored - used, "%s%s", used ? ", " : "", name);
    p->at += took_next;
    return code;
}

/* The option at argv[at]; moves `at` to its last word. */
static int take_option(struct parse *p)
{
    const char *word = p->argv[p->at], *value = NULL, *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *option = find(p->verb, word, n);
    const struct foreign *foreign;
    char what[96];

    if (!option && word[1] != '-' && word[2] >= '0' && word[2] <= '9') { /* -n64 */
        option = find(p->verb, word, 2);
        if (option) {
            n = 2;
            value = word + 2;
        }
    }
    if (equals)
        value = equals + 1;
    if (!option) {
        foreign = ON(p->verb) & NO_MODEL ? NULL : foreign_find(word, n);
        return foreign ? take_foreign(p, foreign, n, value) : unknown(p->verb, word, n);
    }
    if (option->kind == FLAG) {
        if (value)
            return fail(USAGE, "option %.*s takes no value", (int)n, word);
    } else if (may_stand_alone(option) && !value) {
        bool given = next && is_value(option, next);
        value = given ? next : option->kind == SWITCH ? "on" : "0";
        p->at += given;
        if (!given && option->kind == MAYBE_SIZE && *(uint64_t *)((char *)p->o + option->field) != NO_SIZE)
            return DONE; /* the size that a variable gave stays */
    } else if (!value) {
        if (!next)
            return fail(USAGE, "option %.*s needs a value: %s", (int)n, word, option->value);
        value = next;
        p->at++;
    }
    snprintf(what, sizeof what, "option %.*s", (int)n, word);
    return option_store(p->o, option, what, value);
}

/* Standard input can be read once: names the two that want it. */
static int check_stdin(struct options *o, enum verb verb, bool model_by_option)
{
    const char *reader[2] = {NULL, NULL};
    bool prompts = verb == RUN &&
                   (o->text ? strcmp(o->text, "-") == 0 : !o->prompt && !o->file && !o->messages && !o->ids);
    bool talks = verb == CHAT || o->talks;
    bool converts =
        (verb == TOKENIZE || verb == DETOKENIZE) && !o->text && !o->prompt && !o->file && !o->jsonl;
    int n = 0;

    for (int i = 0; i < option_count && n < 2; i++) {
        const struct option *option = &option_table[i];
        if (!(option->verbs & ON(verb)) || (option->kind != READS && option->kind != MODEL))
            continue;
        const char *value = *(const char **)((char *)o + option->field);
        if (value && strcmp(value, "-") == 0)
            reader[n++] = option->kind == MODEL ? "MODEL" : option->names[0];
    }
    if (n < 2 && o->ids && strcmp(o->ids, "-") == 0)
        reader[n++] = "--ids";
    o->appends_stdin = verb == RUN && !model_by_option && o->text && !prompts && n == 0;
    if (n == 1 && (prompts || converts || talks))
        reader[n++] = talks ? "the messages" : prompts ? "the prompt" : verb == TOKENIZE ? "TEXT" : "IDS";
    if (n == 2)
        return fail(USAGE, "%s: %s and %s cannot both be standard input", verb_texts[verb].name, reader[0],
                    reader[1]);
    return DONE;
}

int check_named_files(const struct options *o)
{
    char what[64];
    int code = DONE;

    for (int i = 0; i < option_count && code == DONE; i++) {
        const struct option *option = &option_table[i];
        bool names_file = option->kind == PATH || option->kind == READS || option->kind == WRITES;
        const char *path = names_file ? *(const char *const *)((const char *)o + option->field) : NULL;
        if (!path || !(option->verbs & ON(o->verb)) || (option->kind != PATH && strcmp(path, "-") == 0))
            continue;
        snprintf(what, sizeof what, "option %s", option->names[option->names[1] != NULL]);
        code = option->kind == WRITES ? check_writable(what, path)
                                      : check_readable(what, path, option->kind == PATH);
    }
    return code;
}

static int settle(struct parse *p, const char **args, int n_args)
{
    const struct verb_text *v = &verb_texts[p->verb];
    struct options *o = p->o;
    bool model_by_option = o->model != NULL;
    int code;

    if (o->model && n_args > v->max_args - 1)
        return fail(USAGE, "%s: '%.80s' is one argument too many beside -m", v->name, args[n_args - 1]);
    if (n_args + (o->model != NULL) < v->min_args)
        return fail(USAGE, "%s needs %s: carat %s %s", v->name,
                    p->verb == COMPLETION ? "a shell"
                    : p->verb == CACHE    ? "to be told what to do"
                                          : "a model",
                    v->name, v->args);
    if (!o->model)
        o->model = args[0];
    else
        args[1] = args[0];
    o->text = args[1];
    if ((code = settle_cache_types(o, v->name)) != DONE || (code = settle_head(o)) != DONE ||
        (code = check_stdin(o, p->verb, model_by_option)) != DONE ||
        (code = check_written(o, p->verb)) != DONE)
        return code;
    if (*p->ignored)
        note("ignored, because they change nothing here: %s", p->ignored);
    return DONE;
}

void options_color(int argc, char **argv)
{
    const struct option *option = option_table;
    const char *color = getenv("CARAT_ARG_COLOR");

    while (option->field != offsetof(struct options, color))
        option++;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t n = strcspn(argv[i], "=");
        if (!names(option, argv[i], n))
            continue;
        color = argv[i][n]                                              ? argv[i] + n + 1
                : i + 1 < argc && is_choice(option->value, argv[i + 1]) ? argv[i + 1]
                                                                        : "on";
    }
    if (color && is_choice(option->value, color))
        message_color(color);
}

int options_parse(struct options *o, enum verb verb, int argc, char **argv)
{
    const struct verb_text *v = &verb_texts[verb];
    struct parse p = {.o = o, .verb = verb, .argc = argc, .argv = argv};
    const char *args[2] = {NULL, NULL};
    int n_args = 0, code;
    bool only_args = false;

    *o = (struct options){.verb = verb,
                          .predict = -1,
                          .top_k = -1,
                          .warmup = -1,
                          .draft_max = -1,
                          .draft_right = -1,
                          .temp = -1,
                          .top_p = -1,
                          .min_p = -1,
                          .loop_guard = -1,
                          .logprobs = -1,
                          .lm_shortlist = -1,
                          .min_recall = -1,
                          .least = -1,
                          .parallel = 4,
                          .near_tie = -1,
                          .memory = NO_SIZE,
                          .repeat_penalty = NAN,
                          .frequency_penalty = NAN,
                          .presence_penalty = NAN,
                          .dry_multiplier = NAN,
                          .dry_base = NAN,
                          .typical = NAN,
                          .xtc_probability = NAN,
                          .xtc_threshold = NAN,
                          .repeat_last_n = NOT_GIVEN,
                          .dry_allowed_length = NOT_GIVEN,
                          .dry_penalty_last_n = NOT_GIVEN,
                          .seed = -1};
    if ((code = options_environment(o, verb)) != DONE)
        return code;
    for (; p.at < argc; p.at++) {
        const char *word = argv[p.at];
        if (!only_args && strcmp(word, "--") == 0) {
            only_args = true;
        } else if (!only_args && word[0] == '-' && word[1]) {
            if ((code = take_option(&p)) != DONE)
                return code;
        } else if (verb == BENCH && !only_args && n_args == 0 && !o->bench_of &&
                   is_choice(bench_words, word)) {
            o->bench_of = word;
        } else if (n_args + (o->model != NULL) == v->max_args || n_args == 2) {
            return fail(USAGE, "%s: '%.80s' is one argument too many%s", v->name, word,
                        v->max_args == 2 ? " (a text of several words needs quotes)" : "");
        } else {
            args[n_args++] = word;
        }
    }
    return o->help || (o->help_all && verb != HELP) ? DONE : settle(&p, args, n_args);
}
