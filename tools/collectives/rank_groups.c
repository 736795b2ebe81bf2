/*
 * rank_groups.c - gives the groups of one file the numbers that they have in all files.
 *
 * Threads, memory: see ranks.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/rank_file.h"
#include "read/grow.h"

int64_t sl_rank_groups_put(struct sl_rank_reading *r, const struct sl_rank_group *key)
{
    struct sl_rank_group *group;

    for (size_t i = 0; i < r->groups; i++)
        if (r->group[i].number == key->number && r->group[i].description == key->description &&
            r->group[i].comm == key->comm)
            return (int64_t)i;
    if (r->groups == SL_RANK_GROUPS_MOST)
        return -1;
    group = sl_grow((void **)&r->group, &r->groups, &r->group_slots, sizeof(*group));
    if (!group)
        return -1;
    *group = *key;
    return (int64_t)r->groups - 1;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Stores the ranks of a group with all its descriptions. `rank` NULL: the ranks are 0 and up. */
static void take_group(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct sl_rank_reading *r = user;

    for (size_t i = 0; i < r->groups; i++) {
        struct sl_rank_group *group = &r->group[i];

        if (group->number != number || group->ranks || group->comm)
            continue;
        group->rank = calloc(ranks + 1, sizeof(*group->rank));
        if (!group->rank) {
            r->failed = -ENOMEM;
            return;
        }
        for (size_t k = 0; k < ranks; k++)
            group->rank[k] = rank ? rank[k] : (uint32_t)k;
        qsort(group->rank, ranks, sizeof(*group->rank), ascending);
        group->ranks = group->known = ranks;
    }
}

static int is_one_group(const struct sl_rank_group *a, const struct sl_rank_group *b)
{
    if (a->comm || b->comm)
        return a->comm == b->comm && a->ranks == b->ranks;
    return a->description == b->description && a->ranks == b->ranks &&
           (a->ranks ? memcmp(a->rank, b->rank, a->ranks * sizeof(*a->rank)) == 0
                     : a->number == b->number);
}

/* Moves the groups of the file to those of all files, and sets the group of each part. */
static void join_groups(struct sl_rank_reading *r)
{
    struct sl_ranks *all = r->all;
    uint32_t *place = calloc(r->groups + 1, sizeof(*place));

    for (size_t i = 0; i < r->groups && place; i++) {
        struct sl_rank_group *group = NULL;
        size_t at = 0;

        while (at < all->groups && !is_one_group(&all->group[at], &r->group[i]))
            at++;
        place[i] = (uint32_t)at;
        if (at < all->groups)
            continue;
        if (at < SL_RANK_GROUPS_MOST)
            group = sl_grow((void **)&all->group, &all->groups, &all->group_slots, sizeof(*group));
        if (!group) {
            r->failed = -ENOMEM;
            break;
        }
        *group = r->group[i];
        r->group[i].rank = NULL;
    }
    if (!place)
        r->failed = -ENOMEM;
    for (size_t i = 0; i < r->out->parts && !r->failed; i++)
        r->out->part[i].group = place[r->out->part[i].group];
    for (size_t i = 0; i < r->out->calls && !r->failed; i++)
        r->out->call[i].group = place[r->out->call[i].group];
    free(place);
}

void sl_rank_groups_end(struct sl_rank_reading *r)
{
    const struct sl_header *header = &r->out->header;

    sl_row_collectives_groups(r->collectives, take_group, r);
    if (header->has_world_size && header->world_size > 0 &&
        header->world_size <= SL_RANK_GROUPS_MOST)
        take_group(r, 0, NULL, (size_t)header->world_size);
    join_groups(r);
}
