/*
 * messages.c - numbers the messages of each pair of ranks, so that both ends of one are found.
 *
 * The n-th message from rank a to rank b is the n-th that b receives from a, in whatever kernels
 * the ranks sent and received it. A kernel is matched with the kernel of the other rank that has
 * the same messages.
 *
 * Threads, memory: see summary.h. 96 bytes are needed for each part while they are numbered.
 */
#include <errno.h>
#include <stdlib.h>

#include "collectives/match.h"
#include "event/message.h"

#define KEY_EXCHANGE (1ull << 60)

static uint64_t key_of(const struct sl_rank_part *part, int64_t from, int64_t to)
{
    return (uint64_t)part->group << 40 | ((uint64_t)from & 0xfffff) << 20 |
           ((uint64_t)to & 0xfffff);
}

uint64_t sl_messages_key(const struct sl_match *w, const struct sl_member *m)
{
    const struct sl_rank_part *part = sl_match_part(w, m);
    int64_t self = sl_match_self(w, m);

    if (part->type == SL_COLLECTIVE_SEND)
        return key_of(part, self, part->peer);
    if (part->type == SL_COLLECTIVE_RECV)
        return key_of(part, part->peer, self);
    return KEY_EXCHANGE |
           (self < part->peer ? key_of(part, self, part->peer) : key_of(part, part->peer, self));
}

/* Returns how many messages a part has in each of its directions. A part in both directions is
 * taken to have as many in one as in the other. */
static uint32_t messages_of(const struct sl_rank_part *part)
{
    return part->type == SL_COLLECTIVE_BATCH ? (part->calls + 1) / 2 : part->calls;
}

/* Numbers the messages, which are sorted. An odd `source` is a message that the rank sent. */
static void number(struct sl_match *w, const struct sl_member *message, size_t count)
{
    uint32_t before[2] = {0, 0};

    for (size_t i = 0; i < count; i++) {
        int is_sent = message[i].source % 2;
        struct sl_rank_part *part = &w->all->file[message[i].source / 2].part[message[i].item];

        if (i == 0 || message[i].group != message[i - 1].group ||
            message[i].number != message[i - 1].number)
            before[0] = before[1] = 0;
        if (is_sent)
            part->sent = before[is_sent];
        else
            part->received = before[is_sent];
        before[is_sent] += messages_of(part);
    }
}

/* Adds the messages of a part, by direction. Returns their number. */
static size_t add_messages(const struct sl_match *w, const struct sl_member *m,
                           struct sl_member *message)
{
    const struct sl_rank_part *part = sl_match_part(w, m);
    int64_t self = sl_match_self(w, m);
    size_t count = 0;

    if (part->from >= 0) {
        message[count] = *m;
        message[count].group = key_of(part, part->from, self);
        message[count++].source = 2 * m->source;
    }
    if (part->to >= 0) {
        message[count] = *m;
        message[count].group = key_of(part, self, part->to);
        message[count++].source = 2 * m->source + 1;
    }
    return count;
}

void sl_messages_number(struct sl_match *w)
{
    struct sl_member *message;
    size_t parts = 0, messages = 0;

    for (size_t i = 0; i < w->all->files; i++)
        parts += w->all->file[i].parts;
    message = calloc(2 * parts + 1, sizeof(*message));
    if (!message) {
        w->failed = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < w->all->files; i++)
        for (size_t k = 0; k < w->all->file[i].parts; k++) {
            const struct sl_rank_part *part = &w->all->file[i].part[k];
            struct sl_member m = {.number = part->number,
                                  .start_ns = part->start_ns,
                                  .rank = w->all->file[i].rank,
                                  .source = (uint32_t)i,
                                  .item = (uint32_t)k};

            w->has_batches |= sl_message_is_p2p(part->type) && part->is_shared;
            if (sl_message_is_p2p(part->type) && !part->is_loose && sl_match_rank(w, &m) >= 0)
                messages += add_messages(w, &m, message + messages);
        }
    sl_members_sort(message, messages);
    number(w, message, messages);
    free(message);
}

uint32_t sl_messages_order(const struct sl_match *w, const struct sl_member *m)
{
    const struct sl_rank_part *part = sl_match_part(w, m);
    int is_sender = part->type == SL_COLLECTIVE_SEND ||
                    (part->type == SL_COLLECTIVE_BATCH && sl_match_self(w, m) < part->peer);

    return is_sender ? part->sent : part->received;
}

int sl_messages_agree(const struct sl_rank_part *a, const struct sl_rank_part *b)
{
    if (!sl_message_is_p2p(a->type))
        return 1;
    return a->calls == b->calls &&
           (a->type != SL_COLLECTIVE_BATCH || (a->sent == b->received && a->received == b->sent));
}
