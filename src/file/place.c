/* SPDX-License-Identifier: Apache-2.0 */
/* place.c: from bytes of a mapped file back to the file and the place in it, for those who read a little of
 * much and do not want it mapped. */
#include "file/reader.h"

#include <errno.h>

/* The mapping that p lies in; NULL: none. */
static const struct ct_map *map_of(const struct ct_file *f, const void *p)
{
    const uint8_t *at = p;

    for (int i = 0; i < f->n_map; i++) {
        const struct ct_bytes *b = &f->map[i].bytes;
        if (at >= b->data && at < b->data + b->size)
            return &f->map[i];
    }
    return NULL;
}

/* NULL: nobody has remembered it. */
static const char *path_of(const struct ct_file *f, const struct ct_map *m)
{
    if (f->packed && m->bytes.data == f->packed_map.bytes.data)
        return f->packed_path;
    for (int i = 0; i < f->n_source; i++)
        if (f->source[i].data == m->bytes.data)
            return f->source[i].path;
    return NULL;
}

/* True when the mapping is that of a copy in the cache, which may have another name by now. */
static bool is_copy(const struct ct_file *f, const struct ct_map *m)
{
    return f->copy >= 0 && m->bytes.data == f->packed_map.bytes.data;
}

bool ct_file_in_source(const struct ct_file *f, const void *p, uint32_t *source, uint64_t *at)
{
    const struct ct_map *m = ct_file_on_disk(f, p) ? map_of(f, p) : NULL;

    for (int i = 0; m && i < f->n_source; i++)
        if (f->source[i].data == m->bytes.data) {
            *source = (uint32_t)i;
            *at = (uint64_t)((const uint8_t *)p - m->bytes.data);
            return true;
        }
    return false;
}

bool ct_file_on_disk(const struct ct_file *f, const void *p)
{
    const struct ct_map *m = map_of(f, p);
    const char *path = m ? path_of(f, m) : NULL;

    return path && m->base && m->id.inode && (is_copy(f, m) || ct_os_kind(path) == 1);
}

int ct_place_mapped(const char *path, const struct ct_map *m)
{
    struct ct_os_id id;
    const int fd = ct_os_open_file(path, &id);

    if (fd < 0 || (id.device == m->id.device && id.inode == m->id.inode && id.size == m->id.size))
        return fd;
    ct_os_close_file(fd);
    errno = 0;
    return -1;
}

carat_status ct_place_open(struct ct_place *place, const struct ct_file *f, const void *p, carat_error *err)
{
    const struct ct_map *m = map_of(f, p);

    *place = (struct ct_place){.fd = -1};
    if (!ct_file_on_disk(f, p))
        return CARAT_OK;
    place->path = path_of(f, m);
    place->at = (uint64_t)((const uint8_t *)p - m->bytes.data);
    place->fd = is_copy(f, m) ? ct_os_share_file(f->copy) : ct_place_mapped(place->path, m);
    if (place->fd >= 0)
        return CARAT_OK;
    return errno
               ? ct_fail(err, CARAT_E_IO, "%s: cannot be opened again: %s", place->path, ct_os_reason(errno))
               : ct_fail(err, CARAT_E_IO, "%s: another file has taken its name since the model was opened",
                         place->path);
}

void ct_place_close(struct ct_place *place)
{
    if (place->fd >= 0)
        ct_os_close_file(place->fd);
    place->fd = -1;
}

const char *ct_place_read(const struct ct_place *place, void *to, size_t n, uint64_t from)
{
    int error = 0;

    if (ct_os_read_at(place->fd, to, n, place->at + from, &error))
        return NULL;
    return error ? ct_os_reason(error) : "the file ends before it";
}

void ct_place_ask(const struct ct_place *place, size_t n, uint64_t from)
{
    ct_os_will_read(place->fd, place->at + from, n);
}
