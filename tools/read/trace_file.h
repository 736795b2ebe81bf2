/*
 * trace_file.h - a trace, item by item: input, splitter and parser put together.
 *
 *   sl_trace_open(&t, path, why, sizeof(why));
 *   while (sl_trace_next(t, &item) ...)
 *
 * Threads: one owner. A helper thread takes the compression off ahead of the reader. Memory: input,
 * splitter and parser; see their headers. Nothing grows with the file.
 */
#ifndef SL_TRACE_FILE_H
#define SL_TRACE_FILE_H

#include "read/input_file.h"
#include "read/json_event.h"
#include "read/split.h"

struct sl_trace_item {
    struct sl_span span;
    uint64_t index; /* events: counts from 0 */
    /* Events and fields: 0; -EBADMSG: not valid JSON, see `error`; -EFBIG: not looked into. */
    int status;
    struct sl_trace_row row; /* events with status 0 */
    struct sl_json_error error;
};

struct sl_trace;

/* The text of an input, which is the trace's from then on. 0 or a negative errno: then it is still
 * the caller's. */
int sl_trace_open_input(struct sl_trace **out, struct sl_input *input);
/* As sl_input_open(). */
int sl_trace_open(struct sl_trace **out, const char *path, char *why, size_t why_size);
/* The same over text from anywhere (tests, fuzzer). 0 or -ENOMEM. */
int sl_trace_open_reader(struct sl_trace **out, sl_split_read_fn read, void *user);
void sl_trace_close(struct sl_trace *t); /* NULL is fine */

/* 1: an item; 0: the last one (its span's kind is END, CUT or BAD). Text is valid until the next
 * call. */
int sl_trace_next(struct sl_trace *t, struct sl_trace_item *item);

/* Shows every value of a FIELD span. Returns as sl_json_visit(). */
int sl_trace_visit(struct sl_trace *t, const struct sl_span *field, sl_json_visit_fn visit,
                   void *user, struct sl_json_error *error);

/* After the last item: why this never was a trace, as against one that is broken; NULL if it is
 * one. `input` is its status; the text may point into it or into `last`. */
const char *sl_trace_not_one(const struct sl_trace *t, const struct sl_span *last,
                             const struct sl_input_status *input);

/* What has been decoded; `end` is final once sl_trace_next() gave 0. The counts may run ahead of
 * the items. Without a file: all zero, end WHOLE. */
void sl_trace_get_status(struct sl_trace *t, struct sl_input_status *out);

#endif
