/*
 * parse_ahead.c - a ring of batches, which the helper splits and which either thread parses.
 *
 * A batch has the spans of one buffer of the splitter. The buffer belongs to the batch from the
 * time at which the splitter goes on to the next buffer.
 *
 * Threads: the helper and the owner. `lock` guards the counts and the states. A batch belongs to
 * the helper while it is split, then to the thread that parses it, and then to the owner. Memory:
 * the ring owns the batches.
 */
#include "read/parse_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "read/broken_row.h"

#define ITEM_BYTES (SL_PARSE_AHEAD_ITEMS * sizeof(struct sl_trace_item))
/* Batches that the helper splits before it parses one, so that the owner never waits for a span. */
#define SPLIT_AHEAD 2u

enum state {
    SPLIT,
    PARSING,
    PARSED
};

struct batch {
    enum state state;
    struct sl_split_buffer text;
    struct sl_trace_item *item; /* SL_PARSE_AHEAD_ITEMS */
    size_t items, taken;
    size_t parsed;            /* less than `items` if the item of this number must be cut */
    struct sl_row_edge *edge; /* of all items, in order */
    size_t edges, edge_slots;
    struct sl_input_status status; /* input status after this batch */
};

struct sl_parse_ahead {
    struct sl_split *split;
    void (*status)(void *user, struct sl_input_status *out);
    void *user;
    struct batch batch[SL_PARSE_AHEAD_BATCHES];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned filled; /* number of batches that have been split so far */
    unsigned freed;  /* number of batches that the owner has emptied so far */
    int stop;
    /* used by the owner only */
    struct sl_json *json;
    int has_batch;                       /* 1: the batch `freed` is parsed, and being emptied */
    struct sl_input_status first_status; /* before the first batch */
    /* used by the helper only, until it has ended */
    struct sl_json *helper_json;
    struct sl_trace_item first; /* the first item of the next batch, if has_first */
    int has_first;
    int is_at_end; /* 1: the last span has been split */
    uint64_t events;
};

static struct batch *batch_at(struct sl_parse_ahead *p, unsigned number)
{
    return &p->batch[number % SL_PARSE_AHEAD_BATCHES];
}

/* ---- splitting ---- */

/* Fills a batch with the next spans. */
static void split_batch(struct sl_parse_ahead *p, struct batch *b)
{
    b->items = b->taken = b->parsed = b->edges = 0;
    if (p->has_first)
        b->item[b->items++] = p->first;
    p->has_first = 0;
    while (!p->is_at_end && !p->has_first) {
        struct sl_trace_item *item = &p->first;

        sl_split_next(p->split, &item->span);
        item->index = p->events;
        p->events += item->span.kind == SL_SPAN_EVENT;
        p->is_at_end = item->span.kind >= SL_SPAN_END;
        p->has_first = sl_split_take(p->split, &b->text) && b->items;
        if (!p->has_first) {
            b->item[b->items].span = item->span;
            b->item[b->items++].index = item->index;
        }
        if (b->items == SL_PARSE_AHEAD_ITEMS)
            sl_split_turn(p->split);
    }
    p->status(p->user, &b->status);
}

/* ---- parsing, in either thread ---- */

/* Checks that the key and the value of a top-level field are valid JSON. */
static int check_field(struct sl_json *j, const struct sl_span *span, struct sl_json_error *error)
{
    int rc = sl_json_visit(j, "", span->key - 1, span->key_size + 2, NULL, NULL, error);

    error->at = 0; /* if the key is invalid, the offset of the value is reported, which is close
                      enough */
    return rc ? rc : sl_json_visit(j, "", span->text, span->size, NULL, NULL, error);
}

void sl_item_parse(struct sl_json *j, struct sl_trace_item *item)
{
    const struct sl_span *span = &item->span;

    item->status = span->kind == SL_SPAN_EVENT
                       ? sl_json_row(j, span->text, span->size, &item->row, &item->error)
                   : span->kind == SL_SPAN_FIELD ? check_field(j, span, &item->error)
                                                 : 0;
}

static int has_edges(const struct sl_trace_item *item)
{
    return item->span.kind == SL_SPAN_EVENT && !item->status && item->row.edges;
}

/* Copies the edges of an item, which are valid only until the next item, to the batch. */
static void keep_edges(struct batch *b, struct sl_trace_item *item)
{
    size_t slots = b->edge_slots ? b->edge_slots : 64;
    struct sl_row_edge *grown;

    while (slots < b->edges + item->row.edges)
        slots *= 2;
    if (slots != b->edge_slots) {
        grown = realloc(b->edge, slots * sizeof(*grown));
        if (!grown) {
            item->status = -EBADMSG;
            snprintf(item->error.what, sizeof(item->error.what), "not enough memory");
            return;
        }
        b->edge = grown;
        b->edge_slots = slots;
    }
    memcpy(&b->edge[b->edges], item->row.edge, item->row.edges * sizeof(*b->edge));
    b->edges += item->row.edges;
}

static void parse_batch(struct batch *b, struct sl_json *j)
{
    const struct sl_row_edge *edge;

    for (size_t i = 0; i < b->items; i++, b->parsed++) {
        struct sl_trace_item *item = &b->item[i];

        sl_item_parse(j, item);
        if (item->span.kind == SL_SPAN_EVENT && item->status &&
            sl_broken_row_end(item->span.text, item->span.size, item->status == -EFBIG))
            break;
        if (has_edges(item))
            keep_edges(b, item);
    }
    edge = b->edge; /* does not move any more */
    for (size_t i = 0; i < b->parsed && b->edges; i++) {
        if (!has_edges(&b->item[i]))
            continue;
        b->item[i].row.edge = edge;
        edge += b->item[i].row.edges;
    }
}

/* Parses the first batch that is only split. Called with the lock, which is free meanwhile. Returns
 * 0 if there is none. */
static int parse_one(struct sl_parse_ahead *p, struct sl_json *j)
{
    for (unsigned i = p->freed; i != p->filled; i++) {
        struct batch *b = batch_at(p, i);

        if (b->state != SPLIT)
            continue;
        b->state = PARSING;
        pthread_mutex_unlock(&p->lock);
        parse_batch(b, j);
        pthread_mutex_lock(&p->lock);
        b->state = PARSED;
        pthread_cond_broadcast(&p->changed);
        return 1;
    }
    return 0;
}

/* ---- the helper ---- */

static unsigned only_split(struct sl_parse_ahead *p)
{
    unsigned count = 0;

    for (unsigned i = p->freed; i != p->filled; i++)
        count += batch_at(p, i)->state == SPLIT;
    return count;
}

static int may_split(struct sl_parse_ahead *p)
{
    return !(p->is_at_end && !p->has_first) && p->filled - p->freed < SL_PARSE_AHEAD_BATCHES &&
           only_split(p) < SPLIT_AHEAD;
}

static void *run(void *arg)
{
    struct sl_parse_ahead *p = arg;

    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (may_split(p)) {
            struct batch *b = batch_at(p, p->filled);

            pthread_mutex_unlock(&p->lock);
            split_batch(p, b);
            pthread_mutex_lock(&p->lock);
            b->state = SPLIT;
            p->filled++;
            pthread_cond_broadcast(&p->changed);
        } else if (!parse_one(p, p->helper_json)) {
            pthread_cond_wait(&p->changed, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the owner ---- */

static void destroy(struct sl_parse_ahead *p)
{
    for (unsigned i = 0; i < SL_PARSE_AHEAD_BATCHES; i++) {
        sl_pages_unmap(p->batch[i].item, ITEM_BYTES);
        free(p->batch[i].edge);
        free(p->batch[i].text.data);
    }
    sl_json_destroy(p->helper_json);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int sl_parse_ahead_start(struct sl_parse_ahead **out, struct sl_split *split, struct sl_json *json,
                         uint64_t events, void (*status)(void *user, struct sl_input_status *out),
                         void *user)
{
    struct sl_parse_ahead *p = calloc(1, sizeof(*p));
    int rc;

    if (!p)
        return -ENOMEM;
    p->split = split;
    p->json = json;
    p->events = events;
    p->status = status;
    p->user = user;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    status(user, &p->first_status);
    rc = sl_json_create(&p->helper_json);
    for (unsigned i = 0; i < SL_PARSE_AHEAD_BATCHES && rc == 0; i++) {
        p->batch[i].item = sl_pages_map(ITEM_BYTES);
        rc = p->batch[i].item ? 0 : -ENOMEM;
    }
    sl_split_keep(split, 1);
    if (rc == 0)
        rc = -pthread_create(&p->thread, NULL, run, p);
    if (rc) {
        sl_split_keep(split, 0);
        destroy(p);
    } else {
        *out = p;
    }
    return rc;
}

static void join(struct sl_parse_ahead *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

void sl_parse_ahead_stop(struct sl_parse_ahead *p)
{
    if (!p)
        return;
    join(p);
    destroy(p);
}

/* Returns the text of the items from `from` on. The last of all is not text that was read. */
static struct sl_text text_of(const struct sl_trace_item *item, size_t from, size_t items)
{
    const struct sl_span *first = &item[from].span, *last;

    items -= item[items - 1].span.kind >= SL_SPAN_END;
    if (from >= items)
        return (struct sl_text){NULL, 0};
    last = &item[items - 1].span;
    return (struct sl_text){first->text - first->lead,
                            (size_t)(last->text + last->size - (first->text - first->lead))};
}

void sl_parse_ahead_leave(struct sl_parse_ahead *p)
{
    struct sl_text piece[SL_PARSE_AHEAD_BATCHES + 1];
    const struct batch *cut = batch_at(p, p->freed);
    size_t pieces = 0;

    join(p);
    for (unsigned i = p->freed; i != p->filled; i++) {
        const struct batch *b = batch_at(p, i);

        piece[pieces++] = text_of(b->item, b == cut ? b->parsed : 0, b->items);
    }
    if (p->has_first)
        piece[pieces++] = text_of(&p->first, 0, 1);
    sl_split_rewind(p->split, &cut->item[cut->parsed].span, piece, pieces);
    destroy(p);
}

int sl_parse_ahead_next(struct sl_parse_ahead *p, struct sl_trace_item **out)
{
    struct batch *b = batch_at(p, p->freed);

    if (p->has_batch && b->taken == b->items && b->item[b->items - 1].span.kind < SL_SPAN_END) {
        pthread_mutex_lock(&p->lock);
        p->freed++;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->lock);
        p->has_batch = 0;
        b = batch_at(p, p->freed);
    }
    if (!p->has_batch) {
        pthread_mutex_lock(&p->lock);
        while (p->filled == p->freed || b->state != PARSED)
            if (!parse_one(p, p->json))
                pthread_cond_wait(&p->changed, &p->lock);
        pthread_mutex_unlock(&p->lock);
        p->has_batch = 1;
    }
    if (b->taken == b->parsed && b->parsed < b->items)
        return -EAGAIN;
    b->taken += b->taken < b->items;
    *out = &b->item[b->taken - 1];
    return (*out)->span.kind < SL_SPAN_END;
}

void sl_parse_ahead_get_status(const struct sl_parse_ahead *p, struct sl_input_status *out)
{
    *out = p->has_batch ? p->batch[p->freed % SL_PARSE_AHEAD_BATCHES].status : p->first_status;
}
