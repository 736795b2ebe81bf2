/*
 * trace_file.h - reads a trace item by item, using input, splitter and parser.
 *
 *   sl_trace_open(&t, path, why, sizeof(why));
 *   while (sl_trace_next(t, &item) ...)
 *
 * Threads: one owner. A helper thread decompresses ahead of the reader. If the process may use two
 * processors and the file has more than a few events, another one parses ahead. Memory: the sum of
 * the limits in input_file.h, split.h, parse_ahead.h and json_event.h, for a file of any size.
 */
#ifndef SL_TRACE_FILE_H
#define SL_TRACE_FILE_H

#include "read/header.h"
#include "read/input_file.h"
#include "read/json_event.h"
#include "read/split.h"

struct sl_trace_item {
    struct sl_span span;
    uint64_t index; /* number of the event in the file, from 0 */
    /* For events and fields: 0, -EBADMSG if the text is not valid JSON (see `error`), or -EFBIG if
     * it is too long to be parsed. */
    int status;
    struct sl_trace_row row; /* the parsed row of an event whose status is 0 */
    struct sl_json_error error;
};

struct sl_trace;

/* Opens the trace in an input. On success the trace owns `input`. Returns 0, or a negative errno;
 * then the caller still owns `input`. */
int sl_trace_open_input(struct sl_trace **out, struct sl_input *input);
/* Opens a trace by its path, like sl_input_open(). */
int sl_trace_open(struct sl_trace **out, const char *path, char *why, size_t why_size);
/* Opens a trace whose text any function provides (for tests and the fuzzer). Returns 0 or -ENOMEM.
 * */
int sl_trace_open_reader(struct sl_trace **out, sl_split_read_fn read, void *user);
void sl_trace_close(struct sl_trace *t); /* NULL is fine */

/* Makes sl_trace_next() show on the terminal how much of the file has been read: "checking FILE:
 * ...". */
void sl_trace_show(struct sl_trace *t, const char *what, const char *path);

/* Returns 1 and an item, or 0 and the last item, whose span has kind END, CUT or BAD. The item and
 * its texts are valid until the next call. */
int sl_trace_next(struct sl_trace *t, struct sl_trace_item **item);

/* Reports every value of a FIELD span. Returns the same values as sl_json_visit(). */
int sl_trace_visit(struct sl_trace *t, const struct sl_span *field, sl_json_visit_fn visit,
                   void *user, struct sl_json_error *error);

/* If the event is a metadata event with the rank known so far, reads it as sl_header_value() does.
 * Files have such events if their rank was not known at the beginning. */
void sl_trace_take_rank(struct sl_trace *t, const struct sl_trace_item *item,
                        struct sl_header *header);

/* Call after the last item. Returns a text that says why the input is not a trace, or NULL if the
 * input is a trace, even a damaged one. `input` is the input's status. The text may point into
 * `input` or `last`. */
const char *sl_trace_not_one(const struct sl_trace *t, const struct sl_span *last,
                             const struct sl_input_status *input);

/* Sets *out to the status of the decoding. `end` is final after sl_trace_next() returned 0. The
 * counts may include text whose items have not been returned yet. If the trace does not read a
 * file, all counts are zero and `end` is WHOLE. */
void sl_trace_get_status(struct sl_trace *t, struct sl_input_status *out);

#endif
