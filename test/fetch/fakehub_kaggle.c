/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_kaggle.c: Kaggle as carat-fetch asks it: the newest version, lists in pages of two, and files,
 * which lie on another host (localhost) and whose MD5 the answer tells. LOG_FILE.authorization has a line
 * for each request to Kaggle itself. */
#define _GNU_SOURCE
#include <dirent.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakehub.h"

enum { PAGE = 2 };

static void keep_authorization(const struct request *r)
{
    char path[PATH];

    snprintf(path, sizeof path, "%s.authorization", log_path);
    FILE *f = fopen(path, "ae");
    if (f) {
        fprintf(f, "%s\n", r->authorization);
        fclose(f);
    }
}

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static void answer_newest(struct request *r, const char *folder)
{
    struct dirent **entry;
    char body[128];
    int newest = 0;
    const int n = scandir(folder, &entry, is_visible, alphasort);

    for (int i = 0; i < n; i++) {
        const int version = atoi(entry[i]->d_name);
        newest = version > newest ? version : newest;
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    snprintf(body, sizeof body, "{\"id\": 1, \"files\": {\"a\": []}, \"versionNumber\": %d}", newest);
    if (n < 0)
        answer(r, 404, "", "application/json", "{\"code\": 404, \"message\": \"not found\"}");
    else
        answer(r, 200, "", "application/json", body);
}

static void answer_files(struct request *r, const char *folder)
{
    struct dirent **entry;
    char body[8192] = "{\"files\": [", path[3 * PATH];
    const char *token = strstr(r->query, "pageToken=");
    const int from = token ? atoi(token + strlen("pageToken=")) : 0,
              n = scandir(folder, &entry, is_visible, alphasort);
    int shown = 0;

    if (n < 0) {
        answer(r, 404, "", "application/json", "{}");
        return;
    }
    for (int i = 0; i < n; i++) {
        size_t size = 0;
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (i >= from && shown < PAGE) {
            close_file(open_file(path, &size), size);
            sprintf(body + strlen(body), "%s{\"name\": \"%s\", \"size\": %zu, \"creationDate\": \"x\"}",
                    shown++ ? ", " : "", fault == BAD_NAME ? "../x" : entry[i]->d_name, size);
        }
        free(entry[i]);
    }
    free(entry);
    sprintf(body + strlen(body), "], \"nextPageToken\": \"");
    if (from + shown < n || fault == PAGES)
        sprintf(body + strlen(body), "%d", fault == PAGES ? 0 : from + shown);
    strcat(body, "\"}");
    answer(r, 200, "", "application/json", body);
}

static void answer_bytes(struct request *r, const char *path)
{
    unsigned char md5[EVP_MAX_MD_SIZE], text[64];
    size_t n = 0;
    const char *data = open_file(path, &n);
    unsigned long long from = 0, to;

    if (!data) {
        answer(r, 404, "", "text/plain", "no");
        return;
    }
    EVP_Digest(data, n, md5, NULL, EVP_md5(), NULL);
    if (fault == BAD_HASH)
        md5[3] ^= 1;
    EVP_EncodeBlock(text, md5, 16);
    const int ranges = sscanf(r->range, "bytes=%llu-%llu", &from, &to);
    if (ranges < 2 || to >= n)
        to = n - 1;
    if (n == 0 || from >= n)
        from = 0, to = n - 1;
    head(r,
         "HTTP/1.1 %d Answer\r\nConnection: close\r\nETag: \"%.8s\"\r\nContent-Length: %llu\r\n"
         "X-Goog-Hash: crc32c=n03x6A==, md5=%s\r\n",
         ranges > 0 ? 206 : 200, (const char *)text, to + 1 - from, (const char *)text);
    if (ranges > 0)
        head(r, "Content-Range: bytes %llu-%llu/%zu\r\n", from, to, n);
    head(r, "\r\n");
    if (put(r, data + from, (size_t)(to + 1 - from)))
        r->sent += (long long)(to + 1 - from);
    close_file(data, n);
}

bool answer_kaggle(struct request *r)
{
    static const char api[] = "/api/v1/models/", cdn[] = "/kaggle-cdn/";
    char folder[2 * PATH], more[4 * PATH], *to = more;

    if (strncmp(r->path, cdn, strlen(cdn)) == 0) {
        snprintf(folder, sizeof folder, "%s/kaggle/%s", dir, r->path + strlen(cdn));
        answer_bytes(r, folder);
        return true;
    }
    if (strncmp(r->path, api, strlen(api)) != 0)
        return false;
    keep_authorization(r);
    char *rest = r->path + strlen(api), *end = strstr(rest, "/get"), *files = strstr(rest, "/files"),
         *download = strstr(rest, "/download/");
    if (fault == GATED) {
        answer(r, 403, "", "application/json", "{\"code\": 403, \"message\": \"consent\"}");
    } else if (download) {
        to += sprintf(more, "Location: http://localhost:%d%s%.*s/", port, cdn, (int)(download - rest), rest);
        for (const char *c = download + strlen("/download/"); *c; c++)
            to += sprintf(to, *c == ' ' ? "%%20" : "%c", *c);
        strcpy(to, "\r\n");
        answer(r, 302, more, "text/plain", "Found");
    } else if (files || end) {
        snprintf(folder, sizeof folder, "%s/kaggle/%.*s", dir, (int)((files ? files : end) - rest), rest);
        if (files)
            answer_files(r, folder);
        else
            answer_newest(r, folder);
    } else {
        answer(r, 404, "", "text/plain", "no");
    }
    return true;
}
