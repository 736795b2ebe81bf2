/*
 * messages.c - numbers the messages of each pair of ranks, so that both ends of one are found.
 *
 * The n-th message from rank a to rank b is the n-th that b receives from a, in whatever kernels
 * the ranks sent and received it. A kernel is matched with the kernel of the other rank that has
 * the same messages.
 *
 * Threads, memory: see summary.h; 128 bytes for each part while they are numbered.
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

void sl_messages_number(struct sl_match *w, struct sl_member *member, size_t count)
{
    struct sl_member *message = calloc(2 * count + 1, sizeof(*message));
    size_t messages = 0;

    if (!message) {
        w->failed = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sl_rank_part *part = sl_match_part(w, &member[i]);
        int64_t self = sl_match_self(w, &member[i]);

        if (!sl_message_is_p2p(part->type))
            continue;
        for (uint32_t is_sent = 0; is_sent < 2; is_sent++) {
            struct sl_member *m = &message[messages];

            if (part->type == (is_sent ? SL_COLLECTIVE_RECV : SL_COLLECTIVE_SEND))
                continue;
            *m = member[i];
            m->group = is_sent ? key_of(part, self, part->peer) : key_of(part, part->peer, self);
            m->source = 2 * member[i].source + is_sent;
            messages++;
        }
    }
    sl_members_sort(message, messages);
    number(w, message, messages);
    free(message);
    for (size_t i = 0; i < count; i++) {
        const struct sl_rank_part *part = sl_match_part(w, &member[i]);
        int is_sender =
            part->type == SL_COLLECTIVE_SEND ||
            (part->type == SL_COLLECTIVE_BATCH && sl_match_self(w, &member[i]) < part->peer);

        if (sl_message_is_p2p(part->type))
            member[i].order = is_sender ? part->sent : part->received;
    }
}

int sl_messages_agree(const struct sl_rank_part *a, const struct sl_rank_part *b)
{
    if (!sl_message_is_p2p(a->type))
        return 1;
    return a->calls == b->calls &&
           (a->type != SL_COLLECTIVE_BATCH || (a->sent == b->received && a->received == b->sent));
}
