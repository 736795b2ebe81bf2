/*
 * split.h - the parts of a trace's text: top-level fields and events, one after the other.
 *
 * A trace is one JSON object whose "traceEvents" is an array that may be far larger than memory.
 * The splitter reads it in pieces and hands out each top-level field and each event as a span of
 * text. It knows only the outline (strings, brackets, commas): that a span is JSON is for the
 * parser to say.
 *
 * Threads: one owner. Memory: one buffer of 1 MiB, which grows to the longest span,
 * SL_SPLIT_SPAN_MAX at most.
 */
#ifndef SL_SPLIT_H
#define SL_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#define SL_SPLIT_SPAN_MAX (16u << 20)

/* Gives the next text; 0 at the end. */
typedef size_t (*sl_split_read_fn)(void *user, void *data, size_t size);

enum sl_span_kind {
    SL_SPAN_OPEN,         /* the { of the trace */
    SL_SPAN_FIELD,        /* "key": value, other than traceEvents */
    SL_SPAN_EVENTS_OPEN,  /* "traceEvents": [ */
    SL_SPAN_EVENT,        /* one element */
    SL_SPAN_EVENTS_CLOSE, /* ] */
    SL_SPAN_CLOSE,        /* the } of the trace */
    SL_SPAN_END,          /* the text ended, whole; nothing but white space followed the } */
    SL_SPAN_CUT,          /* the text ended too early: `text` is the part of a span that is left */
    SL_SPAN_BAD           /* not a trace's outline here: `why`; nothing follows */
};

struct sl_span {
    enum sl_span_kind kind;
    const char *text; /* valid until the next call; 64 bytes behind it can be read */
    size_t size;
    uint64_t offset; /* of `text` in the whole */
    /* Bytes just before `text` since the end of the last span: comma, white space, key. Spans with
     * their leads are the whole text, byte for byte. */
    size_t lead;
    const char *key; /* SL_SPAN_FIELD: raw, without quotes */
    size_t key_size;
    const char *why; /* SL_SPAN_BAD */
};

struct sl_split;

/* 0 or -ENOMEM. */
int sl_split_create(struct sl_split **out, sl_split_read_fn read, void *user);
/* Before the first span: the array is called so; else "traceEvents". Borrowed. */
void sl_split_array(struct sl_split *s, const char *name);
void sl_split_destroy(struct sl_split *s); /* NULL is fine */

/* The next span. After SL_SPAN_END, SL_SPAN_CUT or SL_SPAN_BAD the same again. */
void sl_split_next(struct sl_split *s, struct sl_span *out);

#endif
