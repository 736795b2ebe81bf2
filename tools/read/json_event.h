/*
 * json_event.h - parses the text of one event into a plain struct.
 *
 * Only this C interface uses simdjson, a C++ library. The parser checks every value of the text,
 * including the values that are not needed. So any JSON parser accepts a text that this parser
 * accepts.
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

/* Bytes that must be readable after every text given to a parser. */
#define SL_JSON_PADDING 64

/* Longer texts are refused (-EFBIG), because the parser's memory would exceed the tool's limit. */
#define SL_JSON_TEXT_MAX (4u << 20)

/* Texts of an event point into its JSON. Known categories are constants. */

enum sl_row_category {
    SL_CAT_NONE, /* no "cat" */
    SL_CAT_CPU_OP,
    SL_CAT_USER_ANNOTATION,
    SL_CAT_PYTHON, /* Python functions, which torch.profiler writes with `with_stack` */
    SL_CAT_GPU_USER_ANNOTATION,
    SL_CAT_RUNTIME,
    SL_CAT_DRIVER,
    SL_CAT_KERNEL,
    SL_CAT_MEMCPY,
    SL_CAT_MEMSET,
    SL_CAT_SYNC,
    SL_CAT_EVENT_RECORD, /* cudaEventRecord on the GPU's side, of PyTorch's CUPTI monitor */
    SL_CAT_OVERHEAD,
    SL_CAT_AC2G,
    SL_CAT_FWDBWD,
    SL_CAT_OTHER
};

/* Flags of the members that a row has with a value of the expected type. */
enum sl_row_has {
    SL_HAS_NO_FLAG = 0,
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
    SL_HAS_ASYNC = 1 << 29,
    SL_HAS_ORIGINAL_STREAM = 1 << 30
};

/* A pid or tid: a number with or without quotes, or any text such as "Spans". */
struct sl_row_lane {
    struct sl_text text; /* strings without quotes; numbers as written */
    int64_t number;
    int is_number;
};

/* An edge in the args of a syncline row: an element of a call's "sync_edges", or all args of a row
 * called "sync_edge". A null or missing value is absent. */
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
    SL_ROW_EDGE_SRC_NAME, /* in old files: number of the "sync_name" row that holds the name; used
                             if the edge itself has no name text */
    SL_ROW_EDGE_DST_NAME,
    SL_ROW_EDGE_SRC_NODE, /* graph node */
    SL_ROW_EDGE_DST_NODE
};

struct sl_trace_row {
    uint32_t has;     /* flags of enum sl_row_has */
    char phase;       /* "ph"; 0 = absent */
    uint8_t category; /* enum sl_row_category */
    struct sl_text category_text, name;
    struct sl_text args_name; /* args.name, of metadata events */
    struct sl_row_lane pid, tid;
    const struct sl_row_edge *edge; /* the edges in the args, valid until the next row; NULL if
                                       there are none */
    size_t edges;
    int is_edge_name;      /* not 0 for a "sync_name" row of old files, whose members are `id` and
                              args_name */
    int64_t ts_ns, dur_ns; /* exact, from the decimal text; the sum of any two fits int64 */
    int64_t id;            /* id of a flow */
    /* The row of a peer copy in Kineto's files has only one device and one context, in which the
     * copy ran. */
    int64_t correlation, device, context, stream, bytes, external_id;
    /* PyTorch's CUPTI monitor draws the nodes of a graph on lanes of its own. Then `stream` is this
     * number, which is CUDA's stream. */
    int64_t original_stream;
    int64_t wait_record;  /* wait_on_cuda_event_record_corr_id, wait_on_context_record_corr_id */
    int64_t wait_stream;  /* wait_on_stream, wait_on_context_stream */
    int64_t wait_event;   /* wait_on_cuda_event_id */
    int64_t wait_context; /* wait_on_context, if it differs from the wait's context */
    int64_t cbid, result;
    int64_t graph, graph_node;
    struct sl_text bandwidth; /* of a copy or memset, in GB/s: JSON, usually a number */
    int64_t stream_flags;     /* in metadata of a stream: CUPTI's number for the kind of stream */
    /* members of calls that waited */
    int has_waited;
    struct sl_text wait_in; /* the range around the call */
    struct sl_text wait_at; /* the source line */
    /* members of operators */
    int64_t record_function, sequence, forward_thread;
    struct sl_text dims, types, values; /* "Input Dims", "Input type", "Concrete Inputs": JSON */
    /* members of collectives. Names are without quotes; ranks are JSON text. */
    struct sl_text collective, dtype, group, group_ranks;
    struct sl_text source; /* in files of syncline: the source line */
    int64_t in_elements, group_size, group_start, group_stride, src_rank, dst_rank;
    /* -1: not in the row; no flag in `has` */
    int64_t out_elements, group_rank, message_size, calls;
    /* Further members of collectives, as written but without quotes: numbers or names. */
    struct sl_text call, batch, group_description, root_rank, seq;
    /* What NCCL says about a kernel; texts without quotes. -1: not in the row; no flag in `has`. */
    struct sl_text nccl_call, nccl_dtype, comm, comm_name;
    int64_t nccl_number, nccl_bytes, nccl_root, nccl_peer, nccl_calls, comm_ranks, comm_rank,
        comm_instance;
};

/* Returns whether the row is a kernel, copy or memset. */
static inline int sl_row_is_gpu(const struct sl_trace_row *row)
{
    return row->category == SL_CAT_KERNEL || row->category == SL_CAT_MEMCPY ||
           row->category == SL_CAT_MEMSET;
}

/* Returns whether the row is a call of the CUDA runtime or driver. */
static inline int sl_row_is_call(const struct sl_trace_row *row)
{
    return row->category == SL_CAT_RUNTIME || row->category == SL_CAT_DRIVER;
}

struct sl_json_error {
    size_t at; /* approximate offset in the text, in bytes */
    char what[96];
};

struct sl_json;

/* 0 or -ENOMEM. */
int sl_json_create(struct sl_json **out);
void sl_json_destroy(struct sl_json *j); /* NULL is fine */

/* Parses one event. Returns 0, -EBADMSG if the text is not valid JSON, or -EFBIG if it is longer
 * than SL_JSON_TEXT_MAX. */
int sl_json_row(struct sl_json *j, const char *text, size_t size, struct sl_trace_row *out,
                struct sl_json_error *error);

enum sl_json_type {
    SL_JSON_STRING, /* value is the text without quotes, with escapes as written */
    SL_JSON_NUMBER,
    SL_JSON_WORD,  /* true, false, null */
    SL_JSON_ARRAY, /* value is the text as written; the array is reported after its elements */
    SL_JSON_OBJECT /* value is the text as written; the object is reported after its members */
};

/* `path`: keys from the outermost, joined by '.'. An array element has the path of its array. */
typedef void (*sl_json_visit_fn)(void *user, const char *path, enum sl_json_type type,
                                 struct sl_text value);

/* Checks any JSON value and reports every value inside it, except the outermost array or object.
 * Each path begins with `root`. `visit` may be NULL. Returns the same values as sl_json_row(). If
 * the text has an error, the values before the error have been reported. */
int sl_json_visit(struct sl_json *j, const char *root, const char *text, size_t size,
                  sl_json_visit_fn visit, void *user, struct sl_json_error *error);

#ifdef __cplusplus
}
#endif

#endif
