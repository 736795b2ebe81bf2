/*
 * parse_ahead.h - a second thread for the parser.
 *
 * The helper splits the text into batches. Batches are parsed by the helper, or by the owner if the
 * next one is not parsed yet. Items come in the order of the file, so the reader sees the same as
 * without the helper.
 *
 * Threads: one owner calls all functions. Until sl_parse_ahead_stop(), only the helper uses the
 * splitter and calls `status`. Memory: SL_PARSE_AHEAD_BATCHES batches, of a buffer of text
 * (split.h) and up to SL_PARSE_AHEAD_ITEMS items each.
 */
#ifndef SL_PARSE_AHEAD_H
#define SL_PARSE_AHEAD_H

#include "read/trace_file.h"

#define SL_PARSE_AHEAD_BATCHES 6u
#define SL_PARSE_AHEAD_ITEMS   1024u

/* Parses the text of an item whose span is set. */
void sl_item_parse(struct sl_json *j, struct sl_trace_item *item);

struct sl_parse_ahead;

/* Starts the helper. `split` and `json` (of the owner) are borrowed. `events` is the number of the
 * next event. `status` returns the input's status. Returns 0 or -errno. */
int sl_parse_ahead_start(struct sl_parse_ahead **out, struct sl_split *split, struct sl_json *json,
                         uint64_t events, void (*status)(void *user, struct sl_input_status *out),
                         void *user);

/* Waits until the helper no longer uses the splitter, then frees `p`. NULL is fine. */
void sl_parse_ahead_stop(struct sl_parse_ahead *p);

/* Sets *out to the next item, valid until the next call. Returns 1, or 0 for the last item. Returns
 * -EAGAIN if the next event must be cut (sl_split_cut_event()), which changes the spans after it.
 * The owner then calls sl_parse_ahead_leave() and goes on alone. */
int sl_parse_ahead_next(struct sl_parse_ahead *p, struct sl_trace_item **out);

/* Does the same as sl_parse_ahead_stop(). The splitter then returns the span again for which
 * sl_parse_ahead_next() returned -EAGAIN, and those after it. */
void sl_parse_ahead_leave(struct sl_parse_ahead *p);

/* Sets *out to the input's status after the items of the present batch. */
void sl_parse_ahead_get_status(const struct sl_parse_ahead *p, struct sl_input_status *out);

#endif
