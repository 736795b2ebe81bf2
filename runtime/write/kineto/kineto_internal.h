/*
 * kineto_internal.h - shared by the files of the Kineto writer.
 *
 *   kineto.c files and blocks
 *   row.c    rows: runs once per event
 *   match.c  finds what a row repeats of the last similar row; runs once per row
 *   text.c   the constant part of a row: once per shape, call site or place
 *   op.c     PyTorch's operators: their rows, and members about them in other rows
 *   note.c   rows of the user's ranges and marks
 *   edge.c   edges: their rows and arrows, and the wait members of a call's row
 *   hold.c   calls whose rows are held until their edges arrive
 *   names.c  metadata rows: once per process, thread, device or stream and file
 *   frame.c  text before and after the rows: once per file
 *
 * Threads: one owner. Memory: fixed areas that are mapped at creation, and the text cache, which
 * has a cap.
 */
#ifndef SL_KINETO_INTERNAL_H
#define SL_KINETO_INTERNAL_H

#include "base/json.h"
#include "base/stats.h"
#include "write/captures.h"
#include "write/event_join.h"
#include "write/kineto/held_rows.h"
#include "write/kineto/kineto.h"
#include "write/text_cache.h"

enum {
    SL_KINETO_BLOCK = 128 * 1024, /* number of bytes passed to the sink at a time */
    /* Maximum length of a name in bytes. Longer names are truncated. The longest real kernel names
     * have some ten thousand bytes. */
    SL_KINETO_NAME_MAX = 256 * 1024,
    SL_KINETO_SCRATCH = 8 * SL_KINETO_NAME_MAX,
    /* Maximum size, in bytes, of the part of a row that varies. This part has a name and a payload.
     */
    SL_KINETO_TAIL_MAX = 16384,
    /* number of entries for places (a place is a thing that a metadata row names); a power of
     * two */
    SL_KINETO_NAMES = 16384,
    /* maximum number of entries for named CUDA events; these entries are never removed */
    SL_KINETO_EVENTS = SL_KINETO_NAMES / 4,
    /* maximum number of held waits, whose event record has not arrived */
    SL_KINETO_WAITS = 1024,
    /* maximum number of gaps listed in a file; further gaps have only their markers */
    SL_KINETO_GAPS = 256,
    SL_KINETO_SYNC_ROWS = 1000000,
    SL_KINETO_MATCHES = 16384, /* maximum number of matches in a block */
    /* number of calls whose operations may still arrive; a power of two */
    SL_KINETO_CALLS = 65536,
    /* number of collectives whose kernels may still arrive; a power of two */
    SL_KINETO_COMMS = 4096,
    /* number of entries for calls that NCCL described, a power of two */
    SL_KINETO_COLLECTIVES = 16384,
};

/* The row being written. */
struct sl_row {
    struct sl_text *text;
    char *start;
    unsigned fields;
    /* begin and end of each number that varies; the last number is the time */
    char *field[SL_ROW_FIELDS][2];
    int repeats_time; /* 1: the row ends with the same time as the previous row */
    int is_inside;    /* 1: a piece inside a row, which does not follow the end of a line */
};

/* The thing that a metadata row names. */
enum sl_place_kind {
    SL_PLACE_FREE,
    SL_PLACE_THREAD,   /* `id` is the system thread id */
    SL_PLACE_DEVICE,   /* `id` is 0 */
    SL_PLACE_STREAM,   /* `id` is CUPTI's id of the stream */
    SL_PLACE_SYNC_ROW, /* `id` is the stream, or SL_STREAM_NONE for waits without a stream */
    /* `id` is the context; a context has no metadata row, but the rows of its streams contain its
     * name */
    SL_PLACE_CONTEXT,
    SL_PLACE_OVERHEAD, /* `id` is 0 */
    /* a CUDA event, which also has a name; the key is the upper and the lower half of the CUDA
     * handle */
    SL_PLACE_EVENT,
};

struct sl_place {
    uint32_t kind; /* enum sl_place_kind */
    uint32_t device;
    uint32_t id;
    uint32_t name;    /* intern id; 0 if no name was reported */
    uint32_t context; /* streams: the context of the stream */
    uint32_t flags;   /* streams: CUPTI flags; 0 if they are unknown */
    uint32_t file;    /* number of the last file that has the metadata rows of this thing */
};

/* A held wait for an event, and the best fitting event record so far. The record's correlation is 0
 * if there is none. */
struct sl_kineto_wait {
    struct sl_event sync;
    struct sl_event_record record;
};

/* A call made inside an operator. */
struct sl_kineto_call {
    uint64_t correlation;
    uint32_t op;         /* the operator that made the call, as in `u.call.op` */
    uint32_t collective; /* the operator's collective, as in struct sl_op_place */
};

/* A collective with a number or a batch (see `comm` in struct sl_event). */
struct sl_kineto_comm {
    uint32_t op; /* the operator, as in `u.call.op`; 0: free */
    uint32_t seq, batch;
    uint64_t comms_id; /* Kineto's `Comms Id`; 0: not known */
};

/* NCCL's report about a launching call. */
struct sl_kineto_collective {
    uint64_t correlation, number;
    uint32_t text;        /* interned JSON members */
    uint32_t what, sizes; /* as in struct sl_launch_about */
};

struct sl_kineto {
    struct sl_kineto_options opt;
    struct sl_trace_meta meta;

    struct sl_text_cache cache;
    struct sl_event_join *join;
    struct sl_kineto_wait *wait; /* SL_KINETO_WAITS entries, for edge.c */
    uint64_t *wait_key;
    unsigned waits;
    struct sl_kineto_call *call;                 /* SL_KINETO_CALLS entries, by correlation id */
    struct sl_kineto_comm comm[SL_KINETO_COMMS]; /* by the operator */
    struct sl_kineto_collective *launched; /* SL_KINETO_COLLECTIVES entries, by correlation id */
    struct sl_captures captures;           /* the operators that created the nodes of graphs */
    /* collective of the kernel whose text is being made; 0 if there is none */
    uint32_t collective;
    struct sl_place *place; /* hash table of SL_KINETO_NAMES entries, with open addressing */
    /* `places`: number of entries used; `events`: number of entries that are SL_PLACE_EVENT */
    unsigned places, events;
    uint32_t process_name; /* intern id from SL_EV_META_PROCESS; 0: use meta.process_name */
    /* a bit for each device whose entry in struct sl_device_table is complete and may be read */
    uint64_t devices_seen;

    /* the open file */
    struct sl_sink *sink; /* where the file is written; NULL: no file is open */
    int error;
    int holds;                /* 1: calls that may wait are held */
    struct sl_held_rows held; /* the held calls; empty if no file is open */
    uint32_t file;            /* number of the open file, from 1 */
    int header_out;
    uint64_t base_ns;
    uint64_t written;
    uint64_t arrows;      /* number of arrows of category "sync" so far */
    size_t edges_in_call; /* number of edges in the last call's row that could have edges */
    uint64_t devices_in_header;
    /* version of the job's `distributedInfo` that was written last (write/distributed.h) */
    uint32_t distributed;
    /* 1: the rank could still change when the header was written. So `distributedInfo` follows the
     * events, and metadata events have the rank known so far */
    int has_late_rank;
    uint64_t gap[SL_KINETO_GAPS][2]; /* begin and end of each time in which nothing was recorded */
    unsigned gaps;
    uint64_t counted[SL_STAT_COUNT]; /* counter values that earlier files have reported */

    /* The first digits of a time, cached. All times of one second have the same first digits. */
    uint64_t second;
    unsigned second_length;
    char second_text[24];

    char *block; /* SL_KINETO_BLOCK bytes of output */
    size_t used;

    /* The fields below are for repetitions (match.c). They are used only if the sink uses
     * repetitions. */
    int matching;
    struct sl_row row;
    struct sl_match *match; /* matches of this block, at most SL_KINETO_MATCHES */
    size_t matches;
    size_t matched;    /* number of bytes of this block that are part of a match */
    uint64_t position; /* position of the block in the file's text */
    /* number of the compressor's current frame; frames are counted from 1 over all files */
    uint32_t frame;
    /* position in the file's text at which the current frame of the compressor began */
    uint64_t frame_at;
    uint64_t time_at; /* position of the last row's `,"ts":` */
    uint64_t time_ns; /* the time of the last row */
    uint32_t time_frame;
    char *scratch; /* SL_KINETO_SCRATCH bytes, in which rows are made */
    char *name;    /* SL_KINETO_NAME_MAX bytes, for demangled names */
};

/* Writes the row of a call, with its edges and the members about its wait. `edges` is NULL if there
 * is no edge. Returns the same as sl_kineto_events(). */
int sl_kineto_call(struct sl_kineto *k, const struct sl_event *ev,
                   const struct sl_output_edges *edges);

/* Stores a call whose row will be written later. The rows of the call's GPU operations may be
 * written before, and they name the operator that made the call. */
void sl_kineto_expect(struct sl_kineto *k, const struct sl_event *call);

/* Writes an edge's own row if `row` is set, and its arrow if `arrow` is set. Returns the same as
 * sl_kineto_events(). */
int sl_kineto_edge(struct sl_kineto *k, const struct sl_edge *edge, int row, int arrow);

/* hold.c: returns 1 if an edge may end at this call's end. Such a call is held. */
int sl_kineto_may_wait(const struct sl_event *ev);
void sl_kineto_hold(struct sl_kineto *k, const struct sl_event *call);
/* Writes the row of the call that the edges end at, if it is held. Returns the number of edges that
 * are in the row. */
size_t sl_kineto_put_waited(struct sl_kineto *k, const struct sl_output_edges *edges);
void sl_kineto_put_held(struct sl_kineto *k,
                        uint64_t below); /* writes held rows with lower correlation ids */

/* Writes any amount of text, into the block or directly to the sink. */
void sl_kineto_put(struct sl_kineto *k, const char *text, size_t length);

/* Writes a time relative to the file's base, at most SL_JSON_NUMBER_MAX bytes. */
char *sl_kineto_time(struct sl_kineto *k, char *at, uint64_t ns);

/* Begins a row. Writes the constant text of the row, and returns the memory for the varying part
 * that follows. */
char *sl_kineto_row_begin(struct sl_kineto *k, struct sl_text *text);
/* Ends the row being written. */
void sl_kineto_row_end(struct sl_kineto *k, char *at);

/* Stores that [from, to) holds a number that differs from row to row. */
static inline char *sl_kineto_field(struct sl_kineto *k, char *from, char *to)
{
    k->row.field[k->row.fields][0] = from;
    k->row.field[k->row.fields][1] = to;
    k->row.fields++;
    return to;
}

static inline char *sl_kineto_u32(struct sl_kineto *k, char *at, uint32_t v)
{
    return sl_kineto_field(k, at, sl_json_u32(at, v));
}

static inline char *sl_kineto_u64(struct sl_kineto *k, char *at, uint64_t v)
{
    return sl_kineto_field(k, at, sl_json_u64(at, v));
}

/* sl_kineto_loose() returns the memory for a new text. sl_kineto_keep() ends this text at `end` and
 * copies the text to the cache. A text that is too long, or that is not worth keeping (`key` is
 * NULL), is not copied. */
char *sl_kineto_loose(struct sl_kineto *k);
struct sl_text *sl_kineto_keep(struct sl_kineto *k, const uint64_t *key, const char *end);

/* Writes the name of a GPU operation or of a call as the inside of a JSON string. */
char *sl_kineto_operation_name(struct sl_kineto *k, char *at, uint8_t kind, uint32_t shape,
                               uint32_t name);
char *sl_kineto_call_name(struct sl_kineto *k, char *at, uint8_t domain, uint32_t cbid,
                          uint32_t name);

/* sl_kineto_put_wait() writes the source of the call's wait into the call's args.
 * sl_kineto_put_range_name() writes the user's range around the call (a pattern). */
char *sl_kineto_put_wait(struct sl_kineto *k, char *at, const struct sl_edge *by);
/* Writes edges into a call's args, in pieces after the call's last piece, and the end of the args.
 * Returns the end of the text so far. */
char *sl_kineto_put_edges(struct sl_kineto *k, const struct sl_output_edges *edges);
char *sl_kineto_put_range_name(struct sl_kineto *k, char *at, uint32_t name, uint64_t numbers);

/* Returns the constant text of an event's row from the cache. If the cache does not have the text,
 * makes the text by sl_kineto_text(). */
struct sl_text *sl_kineto_text_for(struct sl_kineto *k, uint64_t key0, uint64_t key1,
                                   const struct sl_event *ev);
/* sl_kineto_times() writes the duration and the time of a row, and the row's end.
 * sl_kineto_end_at() writes only the time and the row's end. */
char *sl_kineto_times(struct sl_kineto *k, char *at, const struct sl_event *ev);
char *sl_kineto_end_at(struct sl_kineto *k, char *at, uint64_t ns);
/* Writes the row of one end of an arrow, with the constant text, the arrow's number and a time. */
void sl_kineto_put_end(struct sl_kineto *k, struct sl_text *text, uint64_t arrow, uint64_t ns);

/* Writes the row of an SL_EV_CPU_OP. */
void sl_kineto_op(struct sl_kineto *k, const struct sl_event *ev);
/* sl_kineto_op_text() writes the constant part of an operator's row. sl_kineto_put_detail() writes
 * the members of an interned detail (event/op_detail.h), each with a comma after it. */
char *sl_kineto_op_text(struct sl_kineto *k, char *at, const struct sl_event *ev);
char *sl_kineto_put_detail(const struct sl_kineto *k, char *at, uint32_t detail, int inputs);
/* Writes into a call's args the line of source code that made the call, if known. */
char *sl_kineto_put_line(const struct sl_kineto *k, char *at, const struct sl_event *call);
/* Writes the number and the batch of the collective of the operator `op`. */
char *sl_kineto_put_comm(struct sl_kineto *k, char *at, uint32_t op);
char *sl_kineto_put_external(struct sl_kineto *k, char *at, uint32_t op);
/* sl_kineto_launched() stores an SL_EV_COLLECTIVE. sl_kineto_put_launched() writes what NCCL
 * reported about a call or about the GPU operation that the call launched, if anything. */
void sl_kineto_launched(struct sl_kineto *k, const struct sl_event *ev);
char *sl_kineto_put_launched(const struct sl_kineto *k, char *at, const struct sl_event *ev);
/* Writes the graph node of a GPU operation, and the operator that captured the node, into the
 * operation's args. */
char *sl_kineto_put_node(struct sl_kineto *k, char *at, uint64_t node);

static inline const struct sl_kineto_call *sl_kineto_call_of(const struct sl_kineto *k,
                                                             uint64_t correlation)
{
    const struct sl_kineto_call *call = &k->call[correlation & (SL_KINETO_CALLS - 1)];

    return correlation && call->correlation == correlation ? call : NULL;
}

/* Writes the row of an SL_EV_NVTX_RANGE*. */
void sl_kineto_note(struct sl_kineto *k, const struct sl_event *ev);

/* Writes the constant part of a row, up to the first number that varies, and returns its end. `at`
 * has SL_KINETO_SCRATCH bytes. */
char *sl_kineto_text(struct sl_kineto *k, char *at, const struct sl_event *ev);

/* Stores a META event. If the open file has the metadata rows of the same thing with another name,
 * writes these rows again. */
void sl_kineto_learn(struct sl_kineto *k, const struct sl_event *ev);

/* Writes the metadata rows of the threads and streams that this row names, if the file does not
 * have these metadata rows yet. */
void sl_kineto_introduce(struct sl_kineto *k, const struct sl_event *ev);

/* Writes the process's own rows, the first of the file. */
void sl_kineto_introduce_process(struct sl_kineto *k);
void sl_kineto_introduce_rank(struct sl_kineto *k);

/* Writes the names of CUDA events, at the file's beginning. The names cannot be written later, when
 * they are needed, because no row contains an event's handle. */
void sl_kineto_introduce_events(struct sl_kineto *k);

/* Writes a marker for a gap, in which nothing was recorded. `until_ns` is 0 for the marker at the
 * gap's begin. */
void sl_kineto_put_gap(struct sl_kineto *k, uint64_t from_ns, uint64_t until_ns);

void sl_kineto_put_header(struct sl_kineto *k);
/* Writes a metadata event with the rank, if torch.distributed has reported a rank since the header
 * or the last such event. */
void sl_kineto_put_rank(struct sl_kineto *k);
void sl_kineto_put_trailer(struct sl_kineto *k, uint64_t closed_ns);

/* Passes the text in the block to the sink. */
void sl_kineto_hand_over(struct sl_kineto *k);

/* Writes the row of one event, or the arrow of an SL_EV_FLOW*. The row of a wait may be written
 * later. `edges` are the edges of a call that waited; NULL if there are none. */
void sl_kineto_row(struct sl_kineto *k, const struct sl_event *ev,
                   const struct sl_output_edges *edges);
void sl_kineto_flow(struct sl_kineto *k, const struct sl_event *ev);
void sl_kineto_flow_back(struct sl_kineto *k, const struct sl_event *ev);

/* Writes a wait's row. `record` is the awaited event record. `record` is NULL if the event record
 * is not known, or if the wait is not for an event. */
void sl_kineto_put_sync(struct sl_kineto *k, const struct sl_event *ev,
                        const struct sl_event_record *record);

/* Stores a wait for an event, and writes it once its record is known. */
void sl_kineto_wait(struct sl_kineto *k, const struct sl_event *ev);

/* Stores an SL_EV_CUDA_EVENT, and writes the waits that refer to it. */
void sl_kineto_cuda_event(struct sl_kineto *k, const struct sl_event *ev);

/* Writes the held waits that ended by `until_ns`, with or without their record. */
void sl_kineto_put_waits(struct sl_kineto *k, uint64_t until_ns);

/* Stores which parts of k->row repeat the last row with the same constant text. k->row ends at
 * `end`. */
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
