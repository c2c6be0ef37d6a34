/* SPDX-License-Identifier: Apache-2.0 */
/* events.c: tells what is read of HTTP/1.1: a driver for tools/check_http1.py. The input is messages, each
 * behind a line with the number of its bytes; the output what is heard of each, in the same way. Each is read
 * whole and byte by byte. */
#include "server/heard.h"

int main(void)
{
    size_t n;

    while (scanf("%zu", &n) == 1 && getchar() == '\n') {
        char *bytes = malloc(n + 1);
        heard_must(bytes && fread(bytes, 1, n, stdin) == n);
        char *whole = read_in_pieces((struct text){bytes, n}, n + 1);
        char *single = read_in_pieces((struct text){bytes, n}, 1);
        heard_must(strcmp(whole, single) == 0);
        printf("%zu\n%s", strlen(whole), whole);
        free(bytes);
        free(whole);
        free(single);
    }
    return 0;
}
