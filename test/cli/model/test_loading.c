/* SPDX-License-Identifier: Apache-2.0 */
/* test_loading.c: model.c opens a model and creates an engine under a bar, and stops when Ctrl-C was pressed.
 * A clock of its own runs fast, so that a small model takes long enough for a bar. The real command and real
 * signals are test_interrupt.sh's. */
#define _DEFAULT_SOURCE
#include <unistd.h>
#define isatty(fd) ((fd) == 2)
#define seconds    seconds_of_the_system
#include "../../../cli/model/engine.c"
#undef AT
#define rows rows_of_model /* both files have some */
#include "../../../cli/model/model.c"
#undef rows
#undef seconds
double term_seconds(void);
#include "../../../cli/term/fold.c"
#include "../../../cli/term/message.c"
#include "../../../cli/term/progress.c"
#include "../../../cli/term/utf8.c"
#include "os/room.h"
#undef isatty

#include <setjmp.h>

#include <cmocka.h>

#define MODEL CT_TEST_DATA "/vectors/gguf/q8_0.gguf"

static bool stop;
static char dir[] = "/dev/shm/carat-loading-XXXXXX"; /* of the cache */

/* Each look at the clock takes a second. */
double term_seconds(void)
{
    static double now;
    return now += 1;
}

bool term_interrupted(void)
{
    return stop;
}

void interrupt_wipes(const char *text)
{
    (void)text;
}

int terminal_columns(int fd)
{
    (void)fd;
    return 80;
}

void cache_find(struct cache_place *c)
{
    memset(c, 0, sizeof *c);
    snprintf(c->path, sizeof c->path, "%s", dir);
}

const carat_head_options *head_asked(const struct options *o)
{
    (void)o;
    return NULL;
}

int check_named_files(const struct options *o)
{
    (void)o;
    return DONE;
}

int check_spares_model(const struct options *o, const carat_model *model)
{
    (void)o;
    (void)model;
    return DONE;
}

bool is_located(const char *typed)
{
    (void)typed;
    return true;
}

void side_settings_note(const carat_location *at)
{
    (void)at;
}

int find_model(carat_location *at, const char *typed, const struct options *o)
{
    (void)o;
    at->path = typed;
    return DONE;
}

void interrupt_on_fault(const char *path)
{
    (void)path;
}

carat_status open_stdin(carat_model **model, const carat_model_options *options, carat_error *err)
{
    (void)model;
    (void)options;
    (void)err;
    return CARAT_E_ARGUMENT;
}

const int embedded_tiny_count = 0;
const struct embedded embedded_tiny[1];

static const struct option_row no_row;

const struct option_row *table_rows(void)
{
    return &no_row;
}

void *option_field(const struct options *o, const struct option_row *row)
{
    (void)o;
    (void)row;
    return NULL;
}

static struct options of_run(bool no_cache)
{
    static const struct verb run = {.name = "run", .opens = true};
    static struct open_options open[2];

    open[no_cache] = (struct open_options){.no_cache = no_cache, .cache_size = 1 << 30};
    return (struct options){.verb = &run, .model = MODEL, .open = &open[no_cache]};
}

/* What the work writes to standard error. */
static char shown[16384];
static int watched(int (*work)(const struct options *o), const struct options *o)
{
    FILE *screen = tmpfile();
    int saved = dup(2);
    assert_non_null(screen);
    fflush(stderr);
    dup2(fileno(screen), 2);
    int code = work(o);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    ssize_t n = pread(fileno(screen), shown, sizeof shown - 1, 0);
    shown[n > 0 ? n : 0] = 0;
    fclose(screen);
    return code;
}

static int packs(const struct options *o)
{
    carat_model *model = NULL;
    int code = open_packed(&model, o);
    assert_true((code == DONE) == (model != NULL));
    carat_model_close(model);
    return code;
}

static int creates(const struct options *o)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_engine_options e;
    carat_engine_options_default(&e);
    bool stopped = stop;
    stop = false; /* opening is over */
    assert_int_equal(open_model(&model, o, false), DONE);
    stop = stopped;
    int code = create_engine(&engine, model, &e);
    assert_true((code == DONE) == (engine != NULL));
    carat_engine_close(engine);
    carat_model_close(model);
    return code;
}

static int prepare(void **unused)
{
    (void)unused;
    stop = false;
    snprintf(dir, sizeof dir, "%s/carat-loading-XXXXXX", roomy("/tmp", "/dev/shm"));
    assert_non_null(mkdtemp(dir));
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    return 0;
}

static int clean(void **unused)
{
    char command[64];
    (void)unused;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void opening_shows_a_bar(void **unused)
{
    struct options o = of_run(false);
    (void)unused;
    assert_int_equal(watched(packs, &o), DONE);
    assert_non_null(strstr(shown, "\rpacking ["));
    assert_int_equal(watched(packs, &o), DONE); /* from the cache */
    assert_null(strstr(shown, "packing ["));
}

static void opening_stops(void **unused)
{
    struct options o = of_run(false);
    (void)unused;
    stop = true;
    assert_int_equal(watched(packs, &o), INTERRUPTED);
    assert_non_null(strstr(shown, "E_CANCELLED"));
    stop = false;
    assert_int_equal(watched(packs, &o), DONE); /* nothing of it is left */
}

static void an_engine_shows_a_bar(void **unused)
{
    struct options o = of_run(true);
    (void)unused;
    assert_int_equal(watched(creates, &o), DONE);
    assert_non_null(strstr(shown, "\rloading ["));
}

static void an_engine_stops(void **unused)
{
    struct options o = of_run(true);
    (void)unused;
    stop = true;
    assert_int_equal(watched(creates, &o), INTERRUPTED);
    assert_non_null(strstr(shown, "E_CANCELLED"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opening_shows_a_bar, prepare, clean),
        cmocka_unit_test_setup_teardown(opening_stops, prepare, clean),
        cmocka_unit_test_setup_teardown(an_engine_shows_a_bar, prepare, clean),
        cmocka_unit_test_setup_teardown(an_engine_stops, prepare, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
