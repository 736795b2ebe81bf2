/*
 * spill.c - grows arrays, in memory or in mapped files.
 *
 * Threads, memory: see spill.h.
 */
#include "report/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read/grow.h"
#include "read/temp_file.h"

static struct sl_spill_map *find(const struct sl_spill *s, const void *array)
{
    for (size_t i = 0; array && i < s->maps; i++)
        if (s->map[i].data == array)
            return &s->map[i];
    return NULL;
}

int sl_spill_has(const struct sl_spill *s, const void *array)
{
    return find(s, array) != NULL;
}

/* Maps a new temporary file. Returns NULL, and sets the error, if that fails. */
static void *map_file(struct sl_spill *s, size_t bytes)
{
    int fd = sl_temp_file(), rc = fd < 0 ? fd : 0;
    void *data = MAP_FAILED;

    /* The space is reserved now, because a write to a mapping cannot report that there is none. */
    if (rc == 0)
        rc = -posix_fallocate(fd, 0, (off_t)bytes);
    if (rc == 0)
        data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (rc == 0 && data == MAP_FAILED)
        rc = -errno;
    if (fd >= 0)
        close(fd);
    if (rc && !s->error)
        s->error = rc;
    return rc ? NULL : data;
}

/* Moves an array to a file, or to a larger one. */
static void *move(struct sl_spill *s, void *array, size_t bytes, size_t to_bytes)
{
    void *data = map_file(s, to_bytes);
    struct sl_spill_map *map = find(s, array);

    if (data && !map && !(map = sl_grow((void **)&s->map, &s->maps, &s->map_slots, sizeof(*map)))) {
        munmap(data, to_bytes);
        s->error = -ENOMEM;
        return NULL;
    }
    if (!data)
        return NULL;
    if (array)
        memcpy(data, array, bytes);
    if (map->data) {
        munmap(map->data, map->bytes);
    } else {
        free(array);
        s->used_bytes -= bytes;
    }
    *map = (struct sl_spill_map){data, to_bytes};
    return data;
}

static void *enlarge(struct sl_spill *s, void *array, size_t bytes, size_t to_bytes)
{
    void *data;

    if (sl_spill_has(s, array) || s->used_bytes + (to_bytes - bytes) > s->limit_bytes)
        return move(s, array, bytes, to_bytes);
    data = realloc(array, to_bytes);
    if (data)
        s->used_bytes += to_bytes - bytes;
    else
        s->error = -ENOMEM;
    return data;
}

void *sl_spill_grow(struct sl_spill *s, void **array, size_t *count, size_t *slots, size_t size)
{
    if (!*array || *count == *slots) {
        size_t more = *slots ? *slots + *slots / 2 : 64;
        void *data = enlarge(s, *array, *slots * size, more * size);

        if (!data)
            return NULL;
        *array = data;
        *slots = more;
    }
    return memset((char *)*array + (*count)++ * size, 0, size);
}

void sl_spill_free(struct sl_spill *s, void *array)
{
    struct sl_spill_map *map = find(s, array);

    if (!map) {
        free(array);
        return;
    }
    munmap(map->data, map->bytes);
    *map = s->map[--s->maps];
}

void sl_spill_end(struct sl_spill *s)
{
    free(s->map);
    *s = (struct sl_spill){0};
}
