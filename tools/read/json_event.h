/*
 * json_event.h - the text of one event -> a plain struct.
 *
 * The only door to simdjson: C in front, C++ behind. Every value of the text is checked, also those
 * that nobody asked for, so that what passes here passes any JSON parser.
 *
 * Threads: one owner per parser. Memory: the parser keeps buffers for the longest text so far,
 * about six times its length.
 */
#ifndef SL_JSON_EVENT_H
#define SL_JSON_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "read/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that must be readable behind every text given to a parser. */
#define SL_JSON_PADDING 64

/* Longer texts are refused (-EFBIG): the parser's memory would pass the tool's bound. */
#define SL_JSON_TEXT_MAX (4u << 20)

/* Texts of an event lie in it. A category that is known is a constant. */

enum sl_row_category {
    SL_CAT_NONE, /* no "cat" */
    SL_CAT_CPU_OP,
    SL_CAT_USER_ANNOTATION,
    SL_CAT_PYTHON, /* torch.profiler's, with_stack */
    SL_CAT_GPU_USER_ANNOTATION,
    SL_CAT_RUNTIME,
    SL_CAT_DRIVER,
    SL_CAT_KERNEL,
    SL_CAT_MEMCPY,
    SL_CAT_MEMSET,
    SL_CAT_SYNC,
    SL_CAT_OVERHEAD,
    SL_CAT_AC2G,
    SL_CAT_FWDBWD,
    SL_CAT_OTHER
};

/* Which members of a row were there, with a value of the expected type. */
enum sl_row_has {
    SL_HAS_TS = 1 << 0,
    SL_HAS_DUR = 1 << 1,
    SL_HAS_ID = 1 << 2,
    SL_HAS_ARGS = 1 << 3,
    SL_HAS_CORRELATION = 1 << 4,
    SL_HAS_DEVICE = 1 << 5,
    SL_HAS_CONTEXT = 1 << 6,
    SL_HAS_STREAM = 1 << 7,
    SL_HAS_BYTES = 1 << 8,
    SL_HAS_EXTERNAL_ID = 1 << 9,
    SL_HAS_WAIT_RECORD = 1 << 10,
    SL_HAS_WAIT_STREAM = 1 << 11,
    SL_HAS_WAIT_EVENT = 1 << 12,
    SL_HAS_WAIT_CONTEXT = 1 << 13,
    SL_HAS_CBID = 1 << 14,
    SL_HAS_RESULT = 1 << 15,
    SL_HAS_GRAPH = 1 << 16,
    SL_HAS_GRAPH_NODE = 1 << 17,
    SL_HAS_STREAM_FLAGS = 1 << 18,
    SL_HAS_STILL_RUNNING = 1 << 19,
    SL_HAS_RECORD_FUNCTION = 1 << 20,
    SL_HAS_SEQUENCE = 1 << 21,
    SL_HAS_FORWARD_THREAD = 1 << 22,
    SL_HAS_IN_ELEMENTS = 1 << 23,
    SL_HAS_GROUP_SIZE = 1 << 24,
    SL_HAS_GROUP_START = 1 << 25,
    SL_HAS_GROUP_STRIDE = 1 << 26,
    SL_HAS_SRC_RANK = 1 << 27,
    SL_HAS_DST_RANK = 1 << 28,
    SL_HAS_ASYNC = 1 << 29
};

/* A pid or tid: a number, in quotes or not, or any text ("Spans"). */
struct sl_row_lane {
    struct sl_text text; /* strings without quotes; numbers as written */
    int64_t number;
    int is_number;
};

/* The args of a row of syncline's that tells of an edge; what is null or missing is absent. */
struct sl_row_edge {
    uint32_t has; /* 1 << enum sl_row_edge_number */
    int64_t number[12];
    int released;
    struct sl_text kind, src_name, dst_name, dst_point, basis;
};

enum sl_row_edge_number {
    SL_ROW_EDGE_SRC_CORRELATION,
    SL_ROW_EDGE_SRC_STREAM,
    SL_ROW_EDGE_SRC_DEVICE,
    SL_ROW_EDGE_DST_CORRELATION,
    SL_ROW_EDGE_DST_THREAD,
    SL_ROW_EDGE_DST_STREAM,
    SL_ROW_EDGE_WAIT_NS,
    SL_ROW_EDGE_WAKE_NS,
    SL_ROW_EDGE_SRC_NAME, /* of a name's row, as against the texts above */
    SL_ROW_EDGE_DST_NAME,
    SL_ROW_EDGE_SRC_NODE, /* of graphs */
    SL_ROW_EDGE_DST_NODE
};

struct sl_trace_row {
    uint32_t has;     /* enum sl_row_has */
    char phase;       /* "ph"; 0 = absent */
    uint8_t category; /* enum sl_row_category */
    struct sl_text category_text, name;
    struct sl_text args_name; /* args.name, of metadata events */
    struct sl_row_lane pid, tid;
    const struct sl_row_edge *edge; /* "sync_edge" metadata alone; valid until the next row */
    int is_edge_name;               /* "sync_name" metadata: `id` and args_name */
    int64_t ts_ns, dur_ns;          /* exact from the decimal text; any two can be added */
    int64_t id;                     /* flows */
    /* of a peer copy the device and context that it ran in: Kineto's have no others */
    int64_t correlation, device, context, stream, bytes, external_id;
    int64_t wait_record;  /* wait_on_cuda_event_record_corr_id, wait_on_context_record_corr_id */
    int64_t wait_stream;  /* wait_on_stream, wait_on_context_stream */
    int64_t wait_event;   /* wait_on_cuda_event_id */
    int64_t wait_context; /* wait_on_context: where it is not the wait's own */
    int64_t cbid, result;
    int64_t graph, graph_node;
    int64_t stream_flags; /* of metadata: CUPTI's flag of a stream */
    /* of calls that waited */
    int has_waited;
    struct sl_text wait_in; /* the range around them */
    struct sl_text wait_at; /* the line of the source */
    /* operators */
    int64_t record_function, sequence, forward_thread;
    struct sl_text dims, types, values; /* "Input Dims", "Input type", "Concrete Inputs": JSON */
    /* collectives: names without quotes, the ranks as JSON */
    struct sl_text collective, dtype, group, group_ranks;
    int64_t in_elements, group_size, group_start, group_stride, src_rank, dst_rank;
};

struct sl_json_error {
    size_t at; /* byte within the text, as near as is known */
    char what[96];
};

struct sl_json;

/* 0 or -ENOMEM. */
int sl_json_create(struct sl_json **out);
void sl_json_destroy(struct sl_json *j); /* NULL is fine */

/* One event. 0; -EBADMSG: not valid JSON; -EFBIG: longer than SL_JSON_TEXT_MAX. */
int sl_json_row(struct sl_json *j, const char *text, size_t size, struct sl_trace_row *out,
                struct sl_json_error *error);

enum sl_json_type {
    SL_JSON_STRING, /* value without quotes, escapes as written */
    SL_JSON_NUMBER,
    SL_JSON_WORD,  /* true, false, null */
    SL_JSON_ARRAY, /* its text as written, shown after its elements */
    SL_JSON_OBJECT /* its text as written, shown after its members */
};

/* `path`: keys from the outermost, joined by '.'; array elements have their array's. */
typedef void (*sl_json_visit_fn)(void *user, const char *path, enum sl_json_type type,
                                 struct sl_text value);

/* Any value: checks it and shows every value in it, but not an array or object that is all of it.
 * `root` begins the paths; visit may be NULL. Returns as sl_json_row(); what came before an error
 * has been shown. */
int sl_json_visit(struct sl_json *j, const char *root, const char *text, size_t size,
                  sl_json_visit_fn visit, void *user, struct sl_json_error *error);

#ifdef __cplusplus
}
#endif

#endif
