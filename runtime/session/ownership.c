/*
 * ownership.c - whether CUPTI still works for us, told by what it does with our buffers.
 *
 * Collector thread only. A client that takes CUPTI without a word need not change its clock, and
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
#define SILENT_NS      (1000 * SL_COLLECTOR_MS)
#define SILENT_FLUSHES 4

static struct sl_collector_lent lent_now(void)
{
    uint64_t turn = sl_cupti_pool_turn();

    return (struct sl_collector_lent){.turn = turn, .count = sl_cupti_pool_lent(turn)};
}

static int is_same(struct sl_collector_lent a, struct sl_collector_lent b)
{
    return a.turn == b.turn && a.count == b.count;
}

/* ---- turning kinds off ---- */

void sl_collector_await_sign(struct sl_collector *c)
{
    c->awaited = lent_now();
}

/* What a subscriber of our own has on, nobody else has. */
static int has_sign(const struct sl_collector *c)
{
    return c->opt.cupti->is_v2 || !is_same(c->awaited, lent_now());
}

int sl_collector_turn_off_due(struct sl_collector *c)
{
    if (!c->is_off_due || c->handed_over || c->taken_over || !has_sign(c))
        return 0;
    /* It may have been taken since the last flush. */
    if (sl_collector_check_clock(c))
        return -ECANCELED;
    if (c->taken_over)
        return 0;
    c->is_off_due = 0;
    sl_pipeline_kinds_off(c->pipeline);
    return sl_collector_set_kinds(c, 0);
}

int sl_collector_want_kinds(struct sl_collector *c, int on)
{
    int was_off_due = c->is_off_due, err;

    c->are_kinds_wanted = on;
    c->is_off_due = !on && !c->handed_over;
    if (!on)
        return sl_collector_turn_off_due(c);
    if (was_off_due)
        return 0; /* they are still on */
    sl_collector_await_sign(c);
    err = sl_collector_set_kinds(c, 1);
    if (!err && !c->handed_over)
        sl_pipeline_kinds_on(c->pipeline, 1);
    return err;
}

/* ---- forced flushes ---- */

/* All that CUPTI has of ours; a plain flush would have brought it. */
static int is_complete(const struct sl_collector *c, struct sl_collector_lent lent, size_t *records)
{
    struct sl_decode_held held = sl_collector_look(c, lent.turn);

    *records = held.records;
    /* One that looks empty: not every CUPTI need have written there what it is going to bring. */
    return !held.unfinished && (lent.count != 0) == (held.records != 0) &&
           !sl_pipeline_waiting(c->pipeline);
}

void sl_collector_note_silence(struct sl_collector *c)
{
    struct sl_collector_silence *s = &c->silence;
    struct sl_collector_lent lent = lent_now();
    size_t records = 0;

    /* A CUPTI that is busy with them is not looked at further. */
    if (is_same(s->lent, lent) && is_complete(c, lent, &records) && records == s->records) {
        s->flushes++;
        return;
    }
    *s = (struct sl_collector_silence){
        .lent = lent, .records = records, .since_ns = sl_clock_monotonic()};
}

int sl_collector_is_silent(const struct sl_collector *c)
{
    return !c->opt.cupti->is_v2 && c->silence.flushes >= SILENT_FLUSHES &&
           sl_clock_monotonic() - c->silence.since_ns >= SILENT_NS;
}

int sl_collector_is_force_of_use(const struct sl_collector *c)
{
    return sl_cupti_pool_outstanding() || sl_pipeline_waiting(c->pipeline);
}
