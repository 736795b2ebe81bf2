/*
 * problems.c - compares what ranks did for a collective, and keeps what they do not agree about.
 *
 * Threads, memory: see summary.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "collectives/match.h"
#include "event/message.h"
#include "read/grow.h"

void sl_problems_add(struct sl_match *w, enum sl_problem_kind kind, const struct sl_member *call,
                     size_t size, const uint8_t *is_odd, const uint32_t *absent, size_t absents)
{
    struct sl_summary *s = w->s;
    struct sl_summary_problem *p;

    if (s->problems == SL_SUMMARY_PROBLEMS) {
        s->more_problems++;
        return;
    }
    p = sl_grow((void **)&s->problem, &s->problems, &s->problem_slots, sizeof(*p));
    if (!p) {
        w->failed = -ENOMEM;
        return;
    }
    p->kind = kind;
    p->order = call->order;
    p->rank = calloc(size + absents, sizeof(*p->rank));
    if (!p->rank) {
        w->failed = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < absents; i++)
        p->rank[p->odds++] = absent[i];
    for (size_t i = 0; i < size; i++)
        if (is_odd[i]) {
            p->rank[p->odds++] = call[i].rank;
            p->odd = p->odd ? p->odd : sl_match_part(w, &call[i]);
        }
    for (size_t i = 0; i < size; i++)
        if (!is_odd[i]) {
            p->rank[p->odds + p->rests++] = call[i].rank;
            p->rest = p->rest ? p->rest : sl_match_part(w, &call[i]);
        }
}

int sl_problems_one_call(const struct sl_rank_part *a, const struct sl_rank_part *b)
{
    return a->type == b->type || (sl_message_is_p2p(a->type) && sl_message_is_p2p(b->type));
}

int sl_problems_one_size(const struct sl_rank_part *a, const struct sl_rank_part *b)
{
    if (a->dtype && b->dtype && a->dtype != b->dtype)
        return 0;
    /* all_to_all may have parts of several sizes. Several tensors may be in one kernel. */
    return a->type == SL_COLLECTIVE_ALL_TO_ALL || a->is_shared || b->is_shared ||
           a->size == SL_MESSAGE_UNKNOWN || b->size == SL_MESSAGE_UNKNOWN || a->size == b->size;
}

int sl_problems_check(struct sl_match *w, const struct sl_member *call, size_t size,
                      enum sl_problem_kind kind,
                      int (*agree)(const struct sl_rank_part *, const struct sl_rank_part *))
{
    size_t most = 0, model = 0, i = 1;
    uint8_t *is_odd;

    while (i < size && agree(sl_match_part(w, call), sl_match_part(w, &call[i])))
        i++;
    if (i >= size)
        return 1;
    is_odd = calloc(size, 1);
    if (!is_odd) {
        w->failed = -ENOMEM;
        return 0;
    }
    for (i = 0; i < size; i++) {
        size_t same = 0;

        for (size_t k = 0; k < size; k++)
            same += (size_t)agree(sl_match_part(w, &call[i]), sl_match_part(w, &call[k]));
        model = same > most ? i : model;
        most = same > most ? same : most;
    }
    for (i = 0; i < size; i++)
        is_odd[i] = !agree(sl_match_part(w, &call[model]), sl_match_part(w, &call[i]));
    sl_problems_add(w, kind, call, size, is_odd, NULL, 0);
    free(is_odd);
    return 0;
}
