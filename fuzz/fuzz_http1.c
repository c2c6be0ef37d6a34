/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http1.c: any bytes as requests, cut into pieces of a size that the first byte says. Checked besides
 * memory: the pieces change no event; heads and ends take turns; a body is as long as it was said to be; a
 * refusal has a status and a sentence, and is the last event. */
#include "server/heard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_events(struct text bytes)
{
    struct http1 r;
    enum http1_event event, last = HTTP1_END;
    uint64_t body = 0;

    http1_init(&r, HEARD_BODY);
    while ((event = http1_read(&r, &bytes)) != HTTP1_MORE && event != HTTP1_BAD) {
        heard_must((event == HTTP1_HEAD) == (last == HTTP1_END));
        body = event == HTTP1_HEAD ? 0 : body + (event == HTTP1_BODY ? r.piece.n : 0);
        heard_must(event == HTTP1_HEAD || body <= HEARD_BODY);
        if (event == HTTP1_HEAD)
            heard_must(r.head.path.n && !r.status && r.head.length <= HEARD_BODY);
        if (event == HTTP1_END)
            heard_must(r.head.chunked || body == r.head.length);
        last = event;
    }
    if (event == HTTP1_BAD)
        heard_must(r.status >= 400 && r.status <= 505 && strlen(r.message) < sizeof r.message - 1 &&
                   http1_read(&r, &bytes) == HTTP1_BAD);
    else
        heard_must(bytes.n == 0 && (http1_is_inside(&r) == (last != HTTP1_END) || last == HTTP1_END));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const struct text bytes = {(const char *)data + 1, size - 1};
    char *whole = read_in_pieces(bytes, size), *cut = read_in_pieces(bytes, 1 + data[0] % 64);

    check_events(bytes);
    heard_must(strcmp(whole, cut) == 0);
    free(whole);
    free(cut);
    return 0;
}
