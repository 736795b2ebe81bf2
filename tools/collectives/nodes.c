/*
 * nodes.c - leaves out the collectives whose ranks are all on one node.
 *
 * Threads, memory: see nodes.h.
 */
#include "collectives/nodes.h"

#include "align/clocks.h"
#include "event/message.h"

static uint32_t host_of(const struct sl_ranks *all, int64_t rank)
{
    for (size_t i = 0; i < all->ranks; i++)
        if (all->rank[i].number == rank)
            return all->rank[i].host;
    return SL_CLOCKS_UNKNOWN;
}

/* Returns the number of ranks on each node, or 0 if it is not known. */
static int64_t ranks_of_node(const struct sl_ranks *all)
{
    for (size_t i = 0; i < all->files; i++)
        if (all->file[i].header.local_world_size > 0)
            return all->file[i].header.local_world_size;
    return 0;
}

static int is_between(const struct sl_ranks *all, int64_t local, int64_t a, int64_t b)
{
    uint32_t host = host_of(all, a), other = host_of(all, b);

    if (host != SL_CLOCKS_UNKNOWN && other != SL_CLOCKS_UNKNOWN)
        return host != other;
    return local > 0 && a / local != b / local;
}

static int is_group_between(const struct sl_ranks *all, int64_t local,
                            const struct sl_rank_group *group)
{
    if (!group->rank)
        return 1; /* a group that is not known is listed */
    for (size_t i = 1; i < group->known; i++)
        if (is_between(all, local, group->rank[0], group->rank[i]))
            return 1;
    return group->known < group->ranks; /* ranks without a file may be anywhere */
}

void sl_nodes_keep_between(struct sl_ranks *all)
{
    int64_t local = ranks_of_node(all);

    for (size_t i = 0; i < all->files; i++) {
        struct sl_rank_file *file = &all->file[i];
        int64_t rank = all->rank[file->rank].number;
        size_t kept = 0;

        for (size_t k = 0; k < file->parts; k++) {
            const struct sl_rank_part *part = &file->part[k];
            /* A part that only NCCL describes names its peer by the number in the communicator. */
            int is_p2p = !part->is_nccl && sl_message_is_p2p(part->type) && part->peer >= 0;

            if (is_p2p ? is_between(all, local, rank, part->peer)
                       : is_group_between(all, local, &all->group[part->group]))
                file->part[kept++] = *part;
        }
        file->parts = kept;
        kept = 0;
        for (size_t k = 0; k < file->calls; k++)
            if (is_group_between(all, local, &all->group[file->call[k].group]))
                file->call[kept++] = file->call[k];
        file->calls = kept;
    }
}
