/*
 * stream_overlap.c - of one stream's operations, which ends last.
 *
 * Entered by its owner alone. Mostly it is the latest. But a kernel may begin while the one before
 * it runs (programmatic dependent launch) and end first. So each operation knows when the last of
 * those before it ended: going back from it goes on until that one is there, and where operations
 * end in their order it does not go at all.
 */
#include "sync/stream_state_impl.h"

enum {
    LOOKS = 4096 /* back, for one that outlasts those after it */
};

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

struct sl_op *sl_op_last_to_end(struct sl_op *op)
{
    struct sl_op *last = op;

    for (int looks = LOOKS; !last->no_time && op->older_end_ns > last->pub.end_ns; looks--) {
        op = op->older;
        if (!op || looks == 0)
            return NULL;
        if (op->pub.end_ns > last->pub.end_ns)
            last = op;
    }
    return last;
}

void sl_op_note_ends(struct sl_op *op, struct sl_op *above)
{
    const struct sl_op *older = op->older;
    struct sl_op *from = op->stream->newest;

    /* What stands before one without a time may as well have come later. */
    op->older_end_ns = older && !older->no_time ? later(older->pub.end_ns, older->older_end_ns) : 0;
    /* What had ended when the next began is outlasted by all that come after that. */
    if (!above || op->pub.end_ns <= above->pub.start_ns)
        return;
    for (struct sl_op *at = from; at != op; at = at->older)
        if (at->no_time)
            from = at;
    for (struct sl_op *at = from; at != op; at = at->older)
        at->older_end_ns = later(at->older_end_ns, op->pub.end_ns);
}
