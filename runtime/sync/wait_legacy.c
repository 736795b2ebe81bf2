/*
 * wait_legacy.c - may a wait for the legacy default stream have been for another stream's work?
 *
 * Entered by its owner alone.
 */
#include "sync/wait_legacy.h"

static uint64_t last_end(const struct sl_set *set)
{
    uint64_t ns = 0;

    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at->op->pub.end_ns > ns)
            ns = at->op->pub.end_ns;
    return ns;
}

/* The legacy stream's own last operation. */
static const struct sl_op *own_operation(const struct sl_wait *wait, const struct sl_set *own)
{
    const struct sl_link *at = own->first;

    while (at && at->op->stream != wait->stream)
        at = at->next;
    return at ? at->op : NULL;
}

/* What a blocking stream cannot have done: it ran beside the legacy stream's operation, or behind
 * it though it was enqueued before. */
static int contradicts(const struct sl_op *op, const struct sl_op *own)
{
    if (op->pub.start_ns < own->pub.end_ns)
        return op->pub.end_ns > own->pub.start_ns;
    return op->by.to_ns && op->by.to_ns <= own->by.from_ns;
}

static int is_non_blocking(const struct sl_op *op, const struct sl_op *own)
{
    for (; op && own && op->pub.end_ns > own->pub.start_ns; op = op->older)
        if (contradicts(op, own))
            return 1;
    return 0;
}

int sl_wait_may_be_for_another(struct sl_streams *s, const struct sl_wait *wait,
                               const struct sl_set *own)
{
    const struct sl_moment *when = &wait->when;
    const struct sl_op *own_op = own_operation(wait, own);
    uint64_t own_end_ns = last_end(own);
    uint64_t since_ns = own_end_ns > when->from_ns ? own_end_ns : when->from_ns;
    struct sl_set all = {0};
    int found = 0;

    if (wait->kind != SL_EDGE_STREAM_SYNC || wait->stream->id != SL_STREAM_LEGACY ||
        wait->stream->flags || when->to_ns <= since_ns + SL_WAKE_MOST_NS)
        return 0;
    sl_set_open(s, &all);
    sl_context_collect(s, wait->stream->context, 0, when, &all);
    for (const struct sl_link *at = all.first; at && !found; at = at->next) {
        uint64_t end_ns = at->op->pub.end_ns;

        found = end_ns > since_ns && end_ns <= when->to_ns &&
                end_ns + SL_WAKE_MOST_NS >= when->to_ns && !is_non_blocking(at->op, own_op);
    }
    sl_set_clear(s, &all);
    return found;
}
