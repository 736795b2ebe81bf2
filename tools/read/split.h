/*
 * split.h - splits a trace's text into its top-level fields and events.
 *
 * A trace is one JSON object whose "traceEvents" is an array that may be far larger than memory.
 * The splitter reads the text in pieces and returns each top-level field and each event as a span
 * of text. The splitter knows only the outline (strings, brackets, commas). The parser checks that
 * each span is valid JSON.
 *
 * Threads: one owner. Memory: one buffer of SL_SPLIT_BYTES, which grows to the longest span, at
 * most SL_SPLIT_SPAN_MAX. If texts are kept, a second one.
 */
#ifndef SL_SPLIT_H
#define SL_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "read/text.h"

#define SL_SPLIT_BYTES    (128u << 10)
#define SL_SPLIT_SPAN_MAX (16u << 20)

/* Reads the next bytes of text. Returns 0 at the end. */
typedef size_t (*sl_split_read_fn)(void *user, void *data, size_t size);

enum sl_span_kind {
    SL_SPAN_OPEN,         /* the { of the trace */
    SL_SPAN_FIELD,        /* a "key": value pair; the key is not traceEvents */
    SL_SPAN_EVENTS_OPEN,  /* "traceEvents": [ */
    SL_SPAN_EVENT,        /* one element of traceEvents */
    SL_SPAN_EVENTS_CLOSE, /* ] */
    SL_SPAN_CLOSE,        /* the } of the trace */
    SL_SPAN_END,          /* the text ended after the } and perhaps white space */
    SL_SPAN_CUT,          /* the text ended too early; `text` holds the incomplete span */
    SL_SPAN_BAD /* the text does not have the outline of a trace, for the reason in `why`; no span
                   follows */
};

struct sl_span {
    enum sl_span_kind kind;
    const char *text; /* valid until the next call, unless texts are kept; 64 bytes after it are
                         readable */
    size_t size;
    uint64_t offset; /* byte of `text` within the trace's text */
    /* Size of the lead in bytes. The lead is the text between the previous span and this span:
     * comma, white space and key. All leads and spans together are the whole text, byte for
     * byte. */
    size_t lead;
    const char *key; /* SL_SPAN_FIELD: raw, without quotes */
    size_t key_size;
    const char *why; /* SL_SPAN_BAD */
};

struct sl_split;

/* 0 or -ENOMEM. */
int sl_split_create(struct sl_split **out, sl_split_read_fn read, void *user);
/* Sets the name of the array that holds the events. The default is "traceEvents". Call before the
 * first span. `name` is borrowed. */
void sl_split_array(struct sl_split *s, const char *name);
void sl_split_destroy(struct sl_split *s); /* NULL is fine */

/* Called with a span of an event that is not valid JSON, or too long to be parsed. If the text of
 * another event stands inside it (broken_row.h), the span is cut before that event, which is then
 * the next span. */
void sl_split_cut_event(struct sl_split *s, struct sl_span *event, int is_too_long);

/* Reads the next span. If an event has no end, because its quotes or brackets are wrong, its span
 * ends before the next event. After SL_SPAN_END, SL_SPAN_CUT or SL_SPAN_BAD each further call
 * returns the same span. */
void sl_split_next(struct sl_split *s, struct sl_span *out);

/* A buffer that holds the texts of spans. All members 0: none. */
struct sl_split_buffer {
    char *data; /* free() frees it */
    size_t capacity;
};

/* If `keeps` is not 0, the texts of spans stay valid from now on, because a buffer that is full is
 * left to the caller. */
void sl_split_keep(struct sl_split *s, int keeps);

/* If texts are kept, call after each span. If the span is in another buffer than the span before,
 * exchanges *buffer, which the splitter may use again, for the buffer of the spans before, and
 * returns 1. Otherwise returns 0. */
int sl_split_take(struct sl_split *s, struct sl_split_buffer *buffer);

/* If texts are kept, makes the next span be in another buffer. */
void sl_split_turn(struct sl_split *s);

/* Ends the keeping of texts, and makes the splitter return the span of an event again, and those
 * after it. The pieces are the texts of these spans, with their leads. */
void sl_split_rewind(struct sl_split *s, const struct sl_span *event, const struct sl_text *piece,
                     size_t pieces);

#endif
