/* SPDX-License-Identifier: Apache-2.0 */
/* half_close.c: sends standard input to a port of this machine, closes its own side, and prints what comes
 * until the other one does: what no shell can do by itself. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void must(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

int main(int argc, char **argv)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    char bytes[4096];
    ssize_t n;

    must(argc == 2 && s >= 0, "half_close PORT");
    to.sin_port = htons((uint16_t)atoi(argv[1]));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(connect(s, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    while ((n = read(0, bytes, sizeof bytes)) > 0)
        must(send(s, bytes, (size_t)n, MSG_NOSIGNAL) == n, "send");
    must(shutdown(s, SHUT_WR) == 0, "shutdown");
    while ((n = read(s, bytes, sizeof bytes)) > 0)
        must(write(1, bytes, (size_t)n) == n, "write");
    return 0;
}
