/* bandwidth.c: how fast this machine reads memory: the limit that generating one token after another runs into. Every
 * thread reads its own part of a buffer larger than any cache, four streams at once, asked for ahead. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { LINE = 64, STREAMS = 4, AHEAD = 1024, ROUNDS = 5, MOST_THREADS = 256 };
#define BYTES ((size_t)256 << 20)

struct reader {
    pthread_t thread;
    const unsigned char *from;
    size_t bytes;
    uint64_t found; /* so that nothing is left out */
};

static void *read_part(void *user)
{
    struct reader *r = user;
    size_t part = r->bytes / STREAMS / LINE * LINE;
    uint64_t sum[LINE / 8] = {0};

    for (size_t at = 0; at < part; at += LINE) {
        for (size_t s = 0; s < STREAMS; s++) {
            const unsigned char *line = r->from + s * part + at;
            uint64_t word[LINE / 8];
            __builtin_prefetch(line + AHEAD);
            memcpy(word, line, LINE);
            for (int i = 0; i < LINE / 8; i++)
                sum[i] += word[i];
        }
    }
    for (int i = 0; i < LINE / 8; i++)
        r->found += sum[i];
    return NULL;
}

/* One round; the seconds it took, 0 when no thread could be started. */
static double round_trip(struct reader *r, int threads, const unsigned char *buffer)
{
    double start = seconds();
    int started = 1;

    for (int i = 0; i < threads; i++)
        r[i] = (struct reader){.from = buffer + BYTES / (size_t)threads * (size_t)i,
                               .bytes = BYTES / (size_t)threads};
    while (started < threads && pthread_create(&r[started].thread, NULL, read_part, &r[started]) == 0)
        started++;
    read_part(&r[0]);
    for (int i = 1; i < started; i++)
        pthread_join(r[i].thread, NULL);
    return started == threads ? seconds() - start : 0;
}

double measure_bandwidth(int threads)
{
    static struct reader reader[MOST_THREADS];
    unsigned char *buffer = malloc(BYTES);
    double best = 0;

    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (!buffer)
        return 0;
    memset(buffer, 1, BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        double spent = round_trip(reader, threads, buffer);
        if (spent > 0 && (double)BYTES / spent > best)
            best = (double)BYTES / spent;
    }
    free(buffer);
    return best;
}
