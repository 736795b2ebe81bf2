/*
 * split.c - finds the outline of a trace, by a state machine over a sliding buffer.
 *
 * Threads: one owner. Memory: the splitter owns the buffer, and spans point into the buffer.
 */
#include "read/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/broken_row.h"
#include "read/scan.h"
#include "read/text.h"

/* number of bytes in which the end of a broken event is sought */
#define BROKEN_BYTES (256u << 10)

enum state {
    AT_START,       /* { */
    AT_FIRST_FIELD, /* " or } */
    AT_FIELD,       /* " after a comma */
    AFTER_FIELD,    /* , or } */
    AT_FIRST_EVENT, /* { or ] */
    AT_EVENT,       /* { after a comma */
    AFTER_EVENT,    /* , or ] */
    AFTER_TRACE,    /* white space */
    AT_END          /* not 0 after the end; `last` is then the final span */
};

struct sl_split {
    sl_split_read_fn read;
    void *user;
    struct sl_split_buffer
        other;         /* if texts are kept: the buffer of the spans before, or a spare */
    int keeps;         /* not 0 if texts are kept */
    int turned;        /* not 0 if `other` has texts that the caller has not taken */
    const char *array; /* name of the top-level array that holds the events */
    enum state state;
    char *buffer;
    size_t capacity;
    size_t head; /* end of the last span; earlier bytes may be dropped */
    size_t pos;  /* next byte to examine */
    size_t fill;
    uint64_t base; /* offset of buffer[0] in the whole text */
    int exhausted; /* not 0 after the read function returned 0 */
    struct sl_span last;
};

int sl_split_create(struct sl_split **out, sl_split_read_fn read, void *user)
{
    struct sl_split *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->buffer = calloc(1, SL_SPLIT_BYTES + SL_SCAN_PADDING);
    if (!s->buffer) {
        free(s);
        return -ENOMEM;
    }
    s->capacity = SL_SPLIT_BYTES;
    s->read = read;
    s->user = user;
    s->array = "traceEvents";
    *out = s;
    return 0;
}

void sl_split_array(struct sl_split *s, const char *name)
{
    s->array = name;
}

void sl_split_destroy(struct sl_split *s)
{
    if (!s)
        return;
    free(s->other.data);
    free(s->buffer);
    free(s);
}

void sl_split_keep(struct sl_split *s, int keeps)
{
    s->keeps = keeps;
}

int sl_split_take(struct sl_split *s, struct sl_split_buffer *buffer)
{
    struct sl_split_buffer full = s->other;

    if (!s->turned)
        return 0;
    s->turned = 0;
    s->other = *buffer;
    *buffer = full;
    return 1;
}

/* Ends the splitting. If the text ends inside a span, the last span holds the part of it that was
 * read. Returns 0. */
static int finish(struct sl_split *s, enum sl_span_kind kind, const char *why)
{
    if (s->state == AT_END)
        return 0; /* an earlier call has stated the reason */
    s->state = AT_END;
    s->last = (struct sl_span){.kind = kind,
                               .text = s->buffer + s->head,
                               .size = s->fill - s->head,
                               .offset = s->base + s->head,
                               .why = why};
    if (kind == SL_SPAN_BAD) {
        s->last.text = s->buffer + s->pos;
        s->last.size = s->fill - s->pos;
        s->last.offset = s->base + s->pos;
        s->last.lead = s->pos - s->head;
    }
    return 0;
}

void sl_split_turn(struct sl_split *s)
{
    struct sl_split_buffer full = {s->buffer, s->capacity};
    size_t left = s->fill - s->head;
    /* After a long span the next buffer is small again. */
    size_t capacity = left < SL_SPLIT_BYTES / 2 ? SL_SPLIT_BYTES : s->capacity;

    if (s->turned || s->head == 0)
        return;
    if (s->other.capacity != capacity) {
        free(s->other.data);
        s->other.data = malloc(capacity + SL_SCAN_PADDING);
        s->other.capacity = s->other.data ? capacity : 0;
        if (!s->other.data) {
            s->pos = s->head;
            finish(s, SL_SPAN_BAD, "not enough memory to read on");
            return;
        }
    }
    memcpy(s->other.data, s->buffer + s->head, left + SL_SCAN_PADDING);
    s->buffer = s->other.data;
    s->capacity = s->other.capacity;
    s->other = full;
    s->turned = 1;
    s->base += s->head;
    s->pos -= s->head;
    s->fill = left;
    s->head = 0;
}

void sl_split_rewind(struct sl_split *s, const struct sl_span *event, const struct sl_text *piece,
                     size_t pieces)
{
    size_t left = s->fill - s->head, size = left;
    char *buffer, *at;

    for (size_t i = 0; i < pieces; i++)
        size += piece[i].size;
    at = buffer = malloc((size > SL_SPLIT_BYTES ? size : SL_SPLIT_BYTES) + SL_SCAN_PADDING);
    if (!buffer) {
        s->pos = s->head;
        finish(s, SL_SPAN_BAD, "not enough memory to read on");
        return;
    }
    for (size_t i = 0; i < pieces; i++)
        at = piece[i].size ? (char *)memcpy(at, piece[i].data, piece[i].size) + piece[i].size : at;
    memcpy(at, s->buffer + s->head, left + SL_SCAN_PADDING);
    free(s->buffer);
    s->buffer = buffer;
    s->capacity = size > SL_SPLIT_BYTES ? size : SL_SPLIT_BYTES;
    s->base = event->offset - event->lead;
    s->head = 0;
    s->pos = event->lead;
    s->fill = size;
    s->keeps = s->turned = 0;
    s->state = AT_EVENT;
}

/* Moves the buffer's content to its front, and appends text. Returns 1. Returns 0 at the end of the
 * text. If the span is too long, calls finish() and returns 0. */
static int refill(struct sl_split *s)
{
    size_t n;

    if (s->exhausted)
        return 0;
    if (s->keeps)
        sl_split_turn(s);
    if (s->state == AT_END)
        return 0;
    if (s->head) {
        memmove(s->buffer, s->buffer + s->head, s->fill - s->head);
        s->base += s->head;
        s->pos -= s->head;
        s->fill -= s->head;
        s->head = 0;
    }
    if (s->fill == s->capacity) {
        size_t capacity = s->capacity * 2;
        char *buffer =
            capacity > SL_SPLIT_SPAN_MAX ? NULL : realloc(s->buffer, capacity + SL_SCAN_PADDING);

        if (!buffer) {
            s->pos = s->head;
            return finish(s, SL_SPAN_BAD, "one value is longer than 16 MiB");
        }
        s->buffer = buffer;
        s->capacity = capacity;
    }
    n = s->read(s->user, s->buffer + s->fill, s->capacity - s->fill);
    s->fill += n;
    s->exhausted = n == 0;
    /* The parser may read SL_SCAN_PADDING bytes past the end, so these bytes are set to zero. */
    memset(s->buffer + s->fill, 0, SL_SCAN_PADDING);
    return n > 0;
}

/* Returns the next byte that is not white space, and does not consume the byte. Returns -1 at the
 * end. */
static int peek(struct sl_split *s)
{
    for (;;) {
        for (; s->pos < s->fill; s->pos++) {
            char c = s->buffer[s->pos];

            if (!sl_text_is_space(c))
                return (unsigned char)c;
        }
        if (!refill(s))
            return -1;
    }
}

/* Returns the size of the value at `pos`, or 0 if the text ends first. A number or word ends before
 * the next delimiter. */
static size_t value_size(struct sl_split *s)
{
    struct sl_scan scan = {0, 0, 0, 0};
    char first = s->buffer[s->pos];
    size_t size = 0;

    if (first == '{' || first == '[' || first == '"') {
        for (;;) {
            size = sl_scan_end(&scan, s->buffer + s->pos, s->fill - s->pos, s->exhausted);
            if (size)
                return size;
            /* The text has ended, or the span is too long. */
            if (s->exhausted || (!refill(s) && s->state == AT_END))
                return 0;
        }
    }
    for (;;) {
        for (; s->pos + size < s->fill; size++) {
            if (strchr(",]} \n\r\t", s->buffer[s->pos + size]))
                return size;
        }
        if (!refill(s))
            return 0;
    }
}

/* Puts the `size` bytes at `pos` into *out as a span. Returns 1. */
static int emit(struct sl_split *s, struct sl_span *out, enum sl_span_kind kind, size_t size,
                enum state next)
{
    *out = (struct sl_span){.kind = kind,
                            .text = s->buffer + s->pos,
                            .size = size,
                            .offset = s->base + s->pos,
                            .lead = s->pos - s->head};
    s->pos += size;
    s->head = s->pos;
    s->state = next;
    return 1;
}

/* Reads a field whose key is at `pos`. Returns 1 and a span, or 0 if no span is complete yet. */
static int field(struct sl_split *s, struct sl_span *out)
{
    size_t key = s->pos + 1 - s->head; /* an offset, because the buffer may move */
    size_t size = value_size(s), key_size = size - 2;
    int is_events;

    if (size == 0)
        return finish(s, SL_SPAN_CUT, NULL);
    s->pos += size;
    if (peek(s) < 0)
        return finish(s, SL_SPAN_CUT, NULL);
    if (s->buffer[s->pos] != ':')
        return finish(s, SL_SPAN_BAD, "expected ':' after a key");
    s->pos++;
    if (peek(s) < 0)
        return finish(s, SL_SPAN_CUT, NULL);
    is_events =
        key_size == strlen(s->array) && memcmp(s->buffer + s->head + key, s->array, key_size) == 0;
    if (is_events && s->buffer[s->pos] == '[')
        return emit(s, out, SL_SPAN_EVENTS_OPEN, 1, AT_FIRST_EVENT);
    if (is_events || strchr(",:]}", s->buffer[s->pos]))
        return finish(s, SL_SPAN_BAD,
                      is_events ? "its events are not an array" : "a key has no value");
    size = value_size(s);
    if (size == 0)
        return finish(s, SL_SPAN_CUT, NULL);
    key += s->head;
    emit(s, out, SL_SPAN_FIELD, size, AFTER_FIELD);
    out->key = s->buffer + key;
    out->key_size = key_size;
    return 1;
}

/* Emits text up to the next event, which is recognized in the text itself. Returns 1 and a span, or
 * 0 if the buffer holds no other event. */
static int broken_event(struct sl_split *s, struct sl_span *out)
{
    size_t lead = s->pos - s->head, size; /* the buffer may move */

    while (s->fill - s->head - lead < BROKEN_BYTES && refill(s))
        ;
    s->pos = s->head + lead;
    size = sl_broken_row_end(s->buffer + s->pos, s->fill - s->pos, 0);
    if (!size && s->exhausted)
        size = sl_broken_row_last_end(s->buffer + s->pos, s->fill - s->pos);
    return size ? emit(s, out, SL_SPAN_EVENT, size, AFTER_EVENT) : 0;
}

static int event(struct sl_split *s, struct sl_span *out)
{
    size_t lead = s->pos - s->head; /* the buffer may move */
    size_t size = value_size(s);

    if (size)
        return emit(s, out, SL_SPAN_EVENT, size, AFTER_EVENT);
    s->pos = s->head + lead;
    return broken_event(s, out) || finish(s, SL_SPAN_CUT, NULL);
}

void sl_split_cut_event(struct sl_split *s, struct sl_span *event, int is_too_long)
{
    size_t size = sl_broken_row_end(event->text, event->size, is_too_long);

    if (!size)
        return;
    s->pos = s->head = (size_t)(event->text - s->buffer) + size;
    s->state = AFTER_EVENT;
    event->size = size;
}

/* Reads the next part of the outline, such as a comma or an event. `c` is the next byte. Returns 1
 * and a span, or 0 if the part is no span. */
static int step(struct sl_split *s, struct sl_span *out, int c)
{
    int is_after = s->state == AFTER_FIELD || s->state == AFTER_EVENT;
    int is_event = s->state >= AT_FIRST_EVENT && s->state <= AFTER_EVENT;

    if (s->state == AT_START && c == '{')
        return emit(s, out, SL_SPAN_OPEN, 1, AT_FIRST_FIELD);
    if (is_after && c == ',') {
        s->pos++;
        s->state = is_event ? AT_EVENT : AT_FIELD;
        return 0;
    }
    if ((s->state == AFTER_FIELD || s->state == AT_FIRST_FIELD) && c == '}')
        return emit(s, out, SL_SPAN_CLOSE, 1, AFTER_TRACE);
    if ((s->state == AFTER_EVENT || s->state == AT_FIRST_EVENT) && c == ']')
        return emit(s, out, SL_SPAN_EVENTS_CLOSE, 1, AFTER_FIELD);
    if ((s->state == AT_FIRST_FIELD || s->state == AT_FIELD) && c == '"')
        return field(s, out);
    if (is_event && !is_after && c == '{')
        return event(s, out);
    if (is_event && c != '{' && broken_event(s, out))
        return 1;
    return finish(s, SL_SPAN_BAD,
                  s->state == AT_START      ? "not a JSON object"
                  : s->state == AFTER_TRACE ? "text after the end of the trace"
                  : is_event                ? "expected an event, ',' or ']'"
                                            : "expected a key, ',' or '}'");
}

/* Skips the byte order mark that some programs write before the text. */
static void skip_mark(struct sl_split *s)
{
    static const char mark[] = {(char)0xef, (char)0xbb, (char)0xbf};

    while (s->fill < sizeof(mark) && refill(s))
        ;
    if (s->fill >= sizeof(mark) && memcmp(s->buffer, mark, sizeof(mark)) == 0)
        s->pos = s->head = sizeof(mark);
}

void sl_split_next(struct sl_split *s, struct sl_span *out)
{
    if (s->state == AT_START && s->base == 0 && s->pos == 0)
        skip_mark(s);
    while (s->state != AT_END) {
        int c = peek(s);

        if (s->state == AT_END)
            break;
        if (c < 0)
            finish(s, s->state == AFTER_TRACE ? SL_SPAN_END : SL_SPAN_CUT, NULL);
        else if (step(s, out, c))
            return;
    }
    *out = s->last;
}
