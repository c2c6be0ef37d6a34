/* SPDX-License-Identifier: Apache-2.0 */
/* odd_client.c: sends standard input to a port of this machine, and then does what no shell can do by itself:
 * `half-close` closes its own side and prints what comes until the other one does; `read-nothing` has room
 * for a few kilobytes and leaves them there until it is ended, so that the sender soon rests. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    const int s = socket(AF_INET, SOCK_STREAM, 0), room = 4096;
    char bytes[4096];
    ssize_t n;

    must(argc == 3 && s >= 0, "odd_client half-close|read-nothing PORT");
    const int reads = strcmp(argv[1], "half-close") == 0;

    must(reads || strcmp(argv[1], "read-nothing") == 0, argv[1]);
    must(reads || setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0, "setsockopt");
    to.sin_port = htons((uint16_t)atoi(argv[2]));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(connect(s, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    while ((n = read(0, bytes, sizeof bytes)) > 0)
        must(send(s, bytes, (size_t)n, MSG_NOSIGNAL) == n, "send");
    if (!reads) {
        pause();
        return 0;
    }
    must(shutdown(s, SHUT_WR) == 0, "shutdown");
    while ((n = read(s, bytes, sizeof bytes)) > 0)
        must(write(1, bytes, (size_t)n) == n, "write");
    return 0;
}
