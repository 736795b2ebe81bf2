/*
 * stream_room.c - which operations of a stream nobody needs any more.
 *
 * Entered by its owner alone.
 */
#include <errno.h>

#include "sync/stream_state_impl.h"

/* Of what stands behind `op` the one that outlasts it stays, if there is one. */
static void drop_behind(struct sl_streams *s, struct sl_stream *stream, struct sl_op *op)
{
    struct sl_op *last = sl_op_last_to_end(op);

    while (op->older && op->older != last) {
        struct sl_op *gone = op->older;

        op->older = gone->older;
        gone->older = NULL;
        sl_ops_drop(s, gone);
        stream->trimmed = 1;
        if (last && last != op)
            last->apart = 1;
    }
    if (!op->older)
        return;
    stream->kept++;
    stream->trimmed |= last->older != NULL;
    sl_ops_drop(s, last->older);
    last->older = NULL;
}

static int may_be_asked_for(const struct sl_streams *s, const struct sl_op *op)
{
    return op->pub.end_ns > s->horizon_ns || s->horizon_ns - op->pub.end_ns < s->keep_ns;
}

void sl_stream_trim(struct sl_streams *s, struct sl_stream *stream, const struct sl_op *pushed)
{
    struct sl_op *op = stream->newest;
    int is_passed = op == pushed;

    stream->kept = 1;
    while ((may_be_asked_for(s, op) || !is_passed) && op->older) {
        op = op->older;
        is_passed |= op == pushed;
        stream->kept++;
    }
    drop_behind(s, stream, op);
    stream->trim_at = stream->kept * 2 > SL_STREAM_TRIM_AT ? stream->kept * 2 : SL_STREAM_TRIM_AT;
}

static int is_same_call(const struct sl_op *a, const struct sl_op *b)
{
    return a && b && a->by.correlation == b->by.correlation;
}

/* Of a launched graph's nodes the last is the tail, and the first tells what the launch came
 * behind: those between them are nobody's tail but of calls that overlap it. */
static void thin(struct sl_streams *s, struct sl_stream *stream)
{
    for (struct sl_op *op = stream->newest; op; op = op->older) {
        const struct sl_op *last = sl_op_last_to_end(op);
        struct sl_op *between = op->older;

        while (last && between && between != stream->pushed && between != last &&
               is_same_call(op, between) && is_same_call(between, between->older)) {
            op->older = between->older;
            between->older = NULL;
            sl_ops_drop(s, between);
            stream->kept--;
            between = op->older;
        }
    }
}

int sl_streams_make_room(struct sl_streams *s)
{
    uint64_t before = 0, after = 0;

    for (size_t i = 0; i < s->count; i++) {
        struct sl_stream *stream = s->numbered[i];

        if (!stream->newest)
            continue;
        before += stream->kept;
        sl_stream_trim(s, stream, stream->pushed ? stream->pushed : stream->newest);
        thin(s, stream);
        after += stream->kept;
    }
    return (before - after) * 8 >= before ? 0 : -ENOMEM;
}
