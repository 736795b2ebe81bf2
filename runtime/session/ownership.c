/*
 * ownership.c - whether CUPTI still works for us, told by what it does with our buffers.
 *
 * Recorder thread only. A client that takes CUPTI without a word need not change its clock, and
 * there is no query for whose callbacks CUPTI has. But one whose callbacks are ours asks us for
 * buffers and gives them back: a sign. Without one, nothing is done that would spoil another's
 * trace:
 *
 * Kinds are turned off with the next sign, not before. If CUPTI is ours, nothing is recorded in
 * between: there is no record without a buffer.
 *
 * A forced flush is not made where it would be in vain. By CUPTI's documentation a plain one brings
 * every buffer whose records are complete. When those that are out have held nothing else for a
 * second of plain flushes, and CUPTI has neither brought one, nor written to one, nor asked for
 * another, it has given them to somebody else; if it is only late, force would not hasten it.
 */
#include "session/session.h"

#include <errno.h>

#include "base/clock.h"
#include "collect/cupti/buffer.h"

/* CUPTI's thread may be late on a busy machine, and so may we be: both must be over. */
#define SILENT_NS      (1000 * SL_NS_PER_MS)
#define SILENT_FLUSHES 4

struct sl_cupti_holding sl_ownership_holding(void)
{
    uint64_t turn = sl_cupti_pool_turn();

    return (struct sl_cupti_holding){.turn = turn, .count = sl_cupti_pool_lent(turn)};
}

int sl_ownership_is_same(struct sl_cupti_holding a, struct sl_cupti_holding b)
{
    return a.turn == b.turn && a.count == b.count;
}

/* ---- forced flushes ---- */

/* All that CUPTI has of ours; a plain flush would have brought it. */
static int is_complete(const struct sl_session *s, struct sl_cupti_holding holding, size_t *records)
{
    struct sl_decode_held held = sl_outstanding_look(s, holding.turn);

    *records = held.records;
    /* One that looks empty: not every CUPTI need have written there what it is going to bring. */
    return !held.unfinished && (holding.count != 0) == (held.records != 0) &&
           !sl_pipeline_waiting(s->pipeline);
}

void sl_ownership_note_silence(struct sl_session *s)
{
    struct sl_ownership_silence *silence = &s->silence;
    struct sl_cupti_holding holding = sl_ownership_holding();
    size_t records = 0;

    /* A CUPTI that is busy with them is not looked at further. */
    if (sl_ownership_is_same(silence->holding, holding) && is_complete(s, holding, &records) &&
        records == silence->records) {
        silence->flushes++;
        return;
    }
    *silence = (struct sl_ownership_silence){
        .holding = holding, .records = records, .since_ns = sl_clock_monotonic()};
}

int sl_ownership_is_silent(const struct sl_session *s)
{
    return !s->opt.cupti->is_v2 && s->silence.flushes >= SILENT_FLUSHES &&
           sl_clock_monotonic() - s->silence.since_ns >= SILENT_NS;
}
