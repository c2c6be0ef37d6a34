/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_kaggle.c: Kaggle as kagglehub and carat-fetch ask it, calls with bodies of JSON: the newest
 * version, lists in pages, and files and archives, which lie on another host (localhost) and whose MD5 the
 * answer tells. LOG_FILE.authorization has a line
 * for each request to Kaggle itself. */
#define _GNU_SOURCE
#include <dirent.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakehub.h"

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

/* The value of a member of the body, without its quotes; false: it has none. */
static bool take_member(const struct request *r, const char *name, char value[PATH])
{
    char quoted[64];
    size_t n = 0;

    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(r->body, quoted);
    if (!at)
        return false;
    at += strlen(quoted);
    at += strspn(at, " ");
    const bool text = *at == '"';
    for (at += text; n + 1 < PATH && *at && (text ? *at != '"' : !strchr(",} ", *at)); at++)
        value[n++] = *at == '\\' ? *++at : *at;
    value[n] = 0;
    return true;
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
    static char body[1 << 16] = "{\"files\": [";
    char path[5 * PATH], token[PATH] = "", page[PATH] = "20";
    const int n = scandir(folder, &entry, is_visible, alphasort);
    int shown = 0;

    if (n < 0) {
        answer(r, 404, "", "application/json", "{\"code\": 404, \"message\": \"not found\"}");
        return;
    }
    take_member(r, "pageToken", token);
    take_member(r, "pageSize", page);
    const int from = atoi(token), most = atoi(page);
    for (int i = 0; i < n; i++) {
        size_t size = 0;
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (i >= from && shown < most) {
            close_file(open_file(path, &size), size);
            sprintf(body + strlen(body),
                    "%s{\"name\": \"%s\", \"size\": %zu, \"creationDate\": \"2026-01-02T03:04:05.678Z\"}",
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
         "Accept-Ranges: bytes\r\nX-Goog-Hash: crc32c=n03x6A==, md5=%s\r\n",
         ranges > 0 ? 206 : 200, (const char *)text, to + 1 - from, (const char *)text);
    if (ranges > 0)
        head(r, "Content-Range: bytes %llu-%llu/%zu\r\n", from, to, n);
    head(r, "\r\n");
    if (put(r, data + from, (size_t)(to + 1 - from)))
        r->sent += (long long)(to + 1 - from);
    close_file(data, n);
}

/* google/gemma-3/gguf/1b-it; a framework is in small letters, without underscores. */
static void name_folder(const struct request *r, char folder[4 * PATH])
{
    static const char *const names[] = {"ownerSlug", "modelSlug", "framework", "instanceSlug"};
    const size_t prefix = strlen("MODEL_FRAMEWORK_");
    char value[PATH], *out = folder;

    *folder = 0;
    for (int i = 0; i < 4; i++) {
        if (!take_member(r, names[i], value) || (i == 2 && strlen(value) < prefix))
            return;
        out += sprintf(out, "%s", i ? "/" : "");
        for (const char *c = value + (i == 2 ? prefix : 0); *c; c++)
            if (i != 2 || *c != '_')
                *out++ = (char)(i == 2 && *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        *out = 0;
    }
}

/* A file of a version, or without one, the archive of it, which lies beside it. */
static void answer_download(struct request *r, const char *handle, const char *version)
{
    char more[16 * PATH], path[PATH] = "", *to = more;

    take_member(r, "path", path);
    to += sprintf(more, "Location: http://localhost:%d/kaggle-cdn/%s/%s%s", port, handle, version,
                  *path ? "/" : ".tar.gz");
    for (const char *c = path; *c; c++)
        to += sprintf(to, *c == ' ' ? "%%20" : "%c", *c);
    strcpy(to, "\r\n");
    answer(r, 302, more, "text/plain", "Found");
}

bool answer_kaggle(struct request *r)
{
    static const char api[] = "/api/v1/models.ModelApiService/", cdn[] = "/kaggle-cdn/";
    char path[4 * PATH], handle[4 * PATH], version[PATH] = "";

    if (strncmp(r->path, cdn, strlen(cdn)) == 0) {
        snprintf(path, sizeof path, "%s/kaggle/%s", dir, r->path + strlen(cdn));
        answer_bytes(r, path);
        return true;
    }
    if (strncmp(r->path, api, strlen(api)) != 0)
        return false;
    const char *call = r->path + strlen(api);
    keep_authorization(r);
    name_folder(r, handle);
    take_member(r, "versionNumber", version);
    snprintf(path, sizeof path, "%s/kaggle/%.*s/%.100s", dir, 2 * PATH, handle, version);
    if (fault == GATED)
        answer(r, 403, "", "application/json", "{\"code\": 403, \"message\": \"consent\"}");
    else if (!*handle)
        answer(r, 400, "", "application/json", "{\"code\": 400, \"message\": \"no handle\"}");
    else if (strcmp(call, "GetModelInstance") == 0)
        answer_newest(r, path);
    else if (strcmp(call, "ListModelInstanceVersionFiles") == 0)
        answer_files(r, path);
    else if (strcmp(call, "DownloadModelInstanceVersion") == 0)
        answer_download(r, handle, version);
    else
        answer(r, 404, "", "text/plain", "no");
    return true;
}
