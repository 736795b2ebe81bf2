/*
 * kineto_internal.h - what the files of the Kineto writer share.
 *
 *   kineto.c        files and blocks
 *   row.c    rows: what runs once per event
 *   match.c  what a row repeats of the last one like it: with every row
 *   text.c   the constant part of a row: once per shape, call site or place
 *   op.c     PyTorch's operators: their rows, and what other rows say of them
 *   note.c   rows of the user's ranges and marks
 *   edge.c   edges: their rows and arrows, and what a call's row tells of its wait
 *   hold.c   calls whose rows wait for their edges
 *   names.c  metadata rows: once per process, thread, device or stream and file
 *   frame.c  what stands before and behind the rows: once per file
 *
 * Threads: one owner. Memory: fixed areas mapped at creation, and the text cache under its cap.
 */
#ifndef SL_KINETO_INTERNAL_H
#define SL_KINETO_INTERNAL_H

#include "base/stats.h"
#include "write/captures.h"
#include "write/event_join.h"
#include "write/kineto/held_rows.h"
#include "write/kineto/kineto.h"
#include "write/text_cache.h"

enum {
    SL_KINETO_BLOCK = 128 * 1024, /* text handed to the sink at a time */
    /* Longer names are cut: the longest real kernel names have some ten thousand bytes. */
    SL_KINETO_NAME_MAX = 256 * 1024,
    SL_KINETO_SCRATCH = 8 * SL_KINETO_NAME_MAX,
    /* The part of a row that varies: a name and a payload, at most. */
    SL_KINETO_TAIL_MAX = 16384,
    SL_KINETO_NAMES = 16384,                /* places with metadata rows; a power of two */
    SL_KINETO_EVENTS = SL_KINETO_NAMES / 4, /* of those, named events: nothing ends them */
    SL_KINETO_WAITS = 1024,                 /* waits whose event record has not come */
    SL_KINETO_GAPS = 256,                   /* in a file; further ones only have their markers */
    SL_KINETO_SYNC_ROWS = 1000000,
    SL_KINETO_MATCHES = 16384, /* in a block */
    SL_KINETO_CALLS = 65536,   /* whose operations may come; a power of two */
};

/* The row in the making. */
struct sl_row {
    struct sl_text *text;
    char *start;
    unsigned fields;
    char *field[SL_ROW_FIELDS][2]; /* numbers that vary; the time is the last */
    int repeats_time;              /* ends like the row before: same time */
};

/* What a metadata row names. */
enum sl_place_kind {
    SL_PLACE_FREE,
    SL_PLACE_THREAD,   /* id: system thread id */
    SL_PLACE_DEVICE,   /* id: 0 */
    SL_PLACE_STREAM,   /* id: stream */
    SL_PLACE_SYNC_ROW, /* id: stream, or SL_STREAM_NONE for waits without one */
    SL_PLACE_CONTEXT,  /* id: context; has no row, its name goes into its streams' */
    SL_PLACE_OVERHEAD, /* id: 0 */
    SL_PLACE_EVENT, /* no place, but a name all the same: CUDA's handle, higher half, lower half */
};

struct sl_place {
    uint32_t kind; /* enum sl_place_kind */
    uint32_t device;
    uint32_t id;
    uint32_t name;    /* intern id; 0: none told */
    uint32_t context; /* streams */
    uint32_t flags;   /* streams: CUPTI's, 0 = unknown */
    uint32_t file;    /* last file that has its rows */
};

/* A wait for an event, and the record that fits best so far (correlation 0: none). */
struct sl_kineto_wait {
    struct sl_event sync;
    struct sl_event_record record;
};

/* A call that was made in an operator. */
struct sl_kineto_call {
    uint64_t correlation;
    uint32_t op;         /* as `u.call.op` */
    uint32_t collective; /* as in struct sl_op_place */
};

struct sl_kineto {
    struct sl_kineto_options opt;
    struct sl_trace_meta meta;

    struct sl_text_cache cache;
    struct sl_event_join *join;
    struct sl_kineto_wait *wait; /* SL_KINETO_WAITS: edge.c */
    uint64_t *wait_key;
    unsigned waits;
    struct sl_kineto_call *call; /* SL_KINETO_CALLS, by correlation */
    struct sl_captures captures; /* which operators made the nodes of graphs */
    uint32_t collective;         /* of the kernel whose text is made; 0: none */
    struct sl_place *place;      /* SL_KINETO_NAMES, open addressing */
    unsigned places, events;     /* used; those of them that are SL_PLACE_EVENT */
    uint32_t process_name;       /* intern id from SL_EV_META_PROCESS; 0: meta.process_name */
    uint64_t devices_seen;       /* bit = device whose entry in the table may be read */

    /* the open file */
    struct sl_sink *sink; /* NULL: none */
    int error;
    int holds;                /* calls that may wait: */
    struct sl_held_rows held; /* empty without an open file */
    uint32_t file;            /* counts from 1 */
    int header_out;
    uint64_t base_ns;
    uint64_t written;
    uint64_t arrows; /* of category sync */
    uint64_t devices_in_header;
    uint32_t distributed;            /* version of what the job had said by then */
    uint64_t gap[SL_KINETO_GAPS][2]; /* when nothing was recorded */
    unsigned gaps;
    uint64_t counted[SL_STAT_COUNT]; /* counters that files before this one have told of */

    /* Times of one second share their first digits. */
    uint64_t second;
    unsigned second_length;
    char second_text[24];

    char *block; /* SL_KINETO_BLOCK */
    size_t used;

    /* repetitions, when the sink takes them */
    int matching;
    struct sl_row row;
    struct sl_match *match; /* of this block, SL_KINETO_MATCHES */
    size_t matches;
    size_t matched;    /* bytes of this block that they cover */
    uint64_t position; /* of the block in the file's text */
    uint32_t frame;    /* counts from 1, over all files */
    uint64_t frame_at; /* where it began */
    uint64_t time_at;  /* where the last row's `,"ts":` began... */
    uint64_t time_ns;  /* ...and the time it gave */
    uint32_t time_frame;
    char *scratch; /* SL_KINETO_SCRATCH: rows in the making */
    char *name;    /* SL_KINETO_NAME_MAX: demangled names */
};

/* A call's row with what it waited for: the edge that released it, or where it did not wait that of
 * the source that ended last. NULL: nothing, or it is not known. Returns as sl_kineto_events(). */
int sl_kineto_call(struct sl_kineto *k, const struct sl_event *ev, const struct sl_edge *by);

/* A call whose row comes later: those of its GPU operations, which may come before, tell its
 * operator. */
void sl_kineto_expect(struct sl_kineto *k, const struct sl_event *call);

/* An edge's row, and if it was waited for its arrow. Returns as sl_kineto_events(). */
int sl_kineto_edge(struct sl_kineto *k, const struct sl_edge *edge, int arrow);

/* hold.c. An edge may come to its end; then it is held. */
int sl_kineto_may_wait(const struct sl_event *ev);
void sl_kineto_hold(struct sl_kineto *k, const struct sl_event *call);
void sl_kineto_put_waited(struct sl_kineto *k, const struct sl_edge *by); /* the held call's row */
void sl_kineto_put_held(struct sl_kineto *k, uint64_t below); /* those of lower correlation ids */

/* Any amount of text, into the block or past it. */
void sl_kineto_put(struct sl_kineto *k, const char *text, size_t length);

/* A time relative to the file's base. Takes at most SL_JSON_NUMBER_MAX bytes. */
char *sl_kineto_time(struct sl_kineto *k, char *at, uint64_t ns);

/* Room for the varying part of a row behind its text, which is put here. */
char *sl_kineto_row_begin(struct sl_kineto *k, struct sl_text *text);
/* The row in the making ends here. */
void sl_kineto_row_end(struct sl_kineto *k, char *at);

/* From `from` to `to` stands a number that differs from row to row. */
static inline char *sl_kineto_field(struct sl_kineto *k, char *from, char *to)
{
    k->row.field[k->row.fields][0] = from;
    k->row.field[k->row.fields][1] = to;
    k->row.fields++;
    return to;
}

/* A text that was made at sl_kineto_loose(), up to `end`: kept, or as it lies where it is not worth
 * it (`key` NULL) or too long. */
char *sl_kineto_loose(struct sl_kineto *k);
struct sl_text *sl_kineto_keep(struct sl_kineto *k, const uint64_t *key, const char *end);

/* The inside of a JSON string: a GPU operation's name, a call's. */
char *sl_kineto_operation_name(struct sl_kineto *k, char *at, uint8_t kind, uint32_t shape,
                               uint32_t name);
char *sl_kineto_call_name(struct sl_kineto *k, char *at, uint8_t domain, uint32_t cbid,
                          uint32_t name);

/* In a call's args: what it waited for, and in which of the user's ranges (a pattern). */
char *sl_kineto_put_wait(struct sl_kineto *k, char *at, const struct sl_edge *by);
char *sl_kineto_put_range_name(struct sl_kineto *k, char *at, uint32_t name, uint64_t numbers);

/* The finished text of a row, made if there is none: what sl_kineto_text() gives for the event. */
struct sl_text *sl_kineto_text_for(struct sl_kineto *k, uint64_t key0, uint64_t key1,
                                   const struct sl_event *ev);
/* Length and time of a row, and its end. */
char *sl_kineto_times(struct sl_kineto *k, char *at, const struct sl_event *ev);

/* The row of an SL_EV_CPU_OP, the arrow of an SL_EV_FLOW_BACK. */
void sl_kineto_op(struct sl_kineto *k, const struct sl_event *ev);
void sl_kineto_flow_back(struct sl_kineto *k, const struct sl_event *ev);
/* The constant part of an operator's row; what an interned detail says (event/op_detail.h), each
 * member with a comma behind it. */
char *sl_kineto_op_text(struct sl_kineto *k, char *at, const struct sl_event *ev);
char *sl_kineto_put_detail(const struct sl_kineto *k, char *at, uint32_t detail, int inputs);
/* In a call's args: the line of the source that it was made at, if that is known. */
char *sl_kineto_put_line(const struct sl_kineto *k, char *at, const struct sl_event *call);
char *sl_kineto_put_external(struct sl_kineto *k, char *at, uint32_t op);
/* In the args of a GPU operation: the graph's node that it is, and which operator captured that. */
char *sl_kineto_put_node(struct sl_kineto *k, char *at, uint64_t node);

static inline const struct sl_kineto_call *sl_kineto_call_of(const struct sl_kineto *k,
                                                             uint64_t correlation)
{
    const struct sl_kineto_call *call = &k->call[correlation & (SL_KINETO_CALLS - 1)];

    return correlation && call->correlation == correlation ? call : NULL;
}

/* The row of an SL_EV_NVTX_RANGE*. */
void sl_kineto_note(struct sl_kineto *k, const struct sl_event *ev);

/* The constant part of a row, up to the first number that varies; returns its end. `at` has
 * SL_KINETO_SCRATCH bytes. */
char *sl_kineto_text(struct sl_kineto *k, char *at, const struct sl_event *ev);

/* Takes a META event in; writes its rows again if the open file has them with another name. */
void sl_kineto_learn(struct sl_kineto *k, const struct sl_event *ev);

/* Metadata rows of the places that this row stands on, if the file does not have them yet. */
void sl_kineto_introduce(struct sl_kineto *k, const struct sl_event *ev);

/* The process's own rows, the first of the file. */
void sl_kineto_introduce_process(struct sl_kineto *k);

/* The names of events, in no row of which their handle stands: at the file's beginning, and as they
 * come. */
void sl_kineto_introduce_events(struct sl_kineto *k);

/* Between the two nothing was recorded; until_ns 0: it begins. */
void sl_kineto_put_gap(struct sl_kineto *k, uint64_t from_ns, uint64_t until_ns);

void sl_kineto_put_header(struct sl_kineto *k);
void sl_kineto_put_trailer(struct sl_kineto *k, uint64_t closed_ns);

/* The block so far, to the sink. */
void sl_kineto_hand_over(struct sl_kineto *k);

/* The row of one event (a wait's may come later), `by`: of a call that waited; the arrow of an
 * SL_EV_FLOW. */
void sl_kineto_row(struct sl_kineto *k, const struct sl_event *ev, const struct sl_edge *by);
void sl_kineto_flow(struct sl_kineto *k, const struct sl_event *ev);

/* A wait's row; `record`: what it waits for, NULL where that is not known or no event. */
void sl_kineto_put_sync(struct sl_kineto *k, const struct sl_event *ev,
                        const struct sl_event_record *record);

/* Takes a wait for an event, writes it as soon as its record is known. */
void sl_kineto_wait(struct sl_kineto *k, const struct sl_event *ev);

/* Takes an SL_EV_CUDA_EVENT in, and writes the waits that it explains. */
void sl_kineto_cuda_event(struct sl_kineto *k, const struct sl_event *ev);

/* Writes the waits that are held back and ended by `until_ns`, explained or not. */
void sl_kineto_put_waits(struct sl_kineto *k, uint64_t until_ns);

/* Notes what k->row, which ends at `end`, repeats of the last row with its text. */
void sl_kineto_match(struct sl_kineto *k, char *end);

static inline const struct sl_device *sl_kineto_device(const struct sl_kineto *k, uint32_t device)
{
    const struct sl_device *d;

    if (device >= SL_DEVICE_MAX || !(k->devices_seen >> device & 1) || !k->opt.devices)
        return NULL;
    d = &k->opt.devices->device[device];
    return d->known ? d : NULL;
}

#endif
