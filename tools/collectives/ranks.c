/*
 * ranks.c - holds the collectives of all files, and finds the ranks.
 *
 * Threads, memory: see ranks.h.
 */
#include "collectives/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/clocks.h"

#define NAMES_BYTES (64u << 20)

const char *sl_ranks_name(const struct sl_ranks *all, uint32_t id)
{
    const char *name = sl_intern_get(all->names, id, NULL);

    return name ? name : "";
}

static int by_rank(const void *a, const void *b)
{
    const struct sl_rank *x = a, *y = b;

    /* -1 as the largest number */
    return ((uint64_t)x->number > (uint64_t)y->number) -
           ((uint64_t)x->number < (uint64_t)y->number);
}

static int64_t rank_of(const struct sl_rank_file *file)
{
    return file->header.has_rank && file->header.rank >= 0 ? file->header.rank : -1;
}

/* Adds a rank to the known ranks of a communicator. Ranks come in ascending order. */
static int add_known(struct sl_rank_group *group, uint32_t rank)
{
    uint32_t *more;

    if (group->known && group->rank[group->known - 1] == rank)
        return 0;
    more = realloc(group->rank, (group->known + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    group->rank = more;
    more[group->known++] = rank;
    return 0;
}

/* Finds which ranks a communicator has: those in whose files it is. */
static int find_members(struct sl_ranks *all, uint32_t rank)
{
    int err = 0;

    if (all->rank[rank].number < 0 || all->rank[rank].number > UINT32_MAX)
        return 0;
    for (size_t i = 0; i < all->files && !err; i++) {
        const struct sl_rank_file *file = &all->file[i];

        for (size_t k = 0; file->rank == rank && k < file->parts && !err; k++)
            if (file->part[k].is_nccl)
                err = add_known(&all->group[file->part[k].group], (uint32_t)all->rank[rank].number);
    }
    return err;
}

int sl_ranks_end(struct sl_ranks *all)
{
    size_t kept = 0;

    all->rank = calloc(all->files + 1, sizeof(*all->rank));
    if (!all->rank)
        return -ENOMEM;
    for (size_t i = 0; i < all->files; i++) {
        const struct sl_header *h = &all->file[i].header;
        uint32_t host = h->host[0] ? sl_intern_put(all->names, h->host, strlen(h->host)) : 0;

        all->rank[i] = (struct sl_rank){rank_of(&all->file[i]), host ? host : SL_CLOCKS_UNKNOWN};
        if (h->has_world_size && h->world_size > 0 && (uint64_t)h->world_size > all->world_size)
            all->world_size = (uint64_t)h->world_size;
    }
    if (all->files)
        qsort(all->rank, all->files, sizeof(*all->rank), by_rank);
    for (size_t i = 0; i < all->files; i++)
        if (!kept || all->rank[i].number < 0 || all->rank[i].number != all->rank[kept - 1].number)
            all->rank[kept++] = all->rank[i];
    all->ranks = kept;
    for (size_t i = 0, unnamed = 0; i < all->files; i++) {
        struct sl_rank_file *file = &all->file[i];
        int64_t number = rank_of(file);
        uint32_t at = 0;

        while (all->rank[at].number != number)
            at++;
        file->rank = number < 0 ? at + (uint32_t)unnamed++ : at;
    }
    for (uint32_t i = 0; i < all->ranks; i++)
        if (find_members(all, i) != 0)
            return -ENOMEM;
    return 0;
}

int sl_ranks_create(struct sl_ranks *all, size_t files)
{
    *all = (struct sl_ranks){.file = calloc(files + 1, sizeof(*all->file))};
    if (all->file && sl_intern_create(&all->names, NAMES_BYTES) == 0)
        return 0;
    free(all->file);
    return -ENOMEM;
}

void sl_ranks_free(struct sl_ranks *all)
{
    for (size_t i = 0; i < all->files; i++) {
        free(all->file[i].part);
        free(all->file[i].call);
    }
    for (size_t i = 0; i < all->groups; i++)
        free(all->group[i].rank);
    free(all->file);
    free(all->group);
    free(all->rank);
    sl_intern_destroy(all->names);
}
