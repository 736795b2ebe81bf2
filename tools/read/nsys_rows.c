/*
 * nsys_rows.c - writes the rows of an export of nsys as events of a Kineto trace.
 *
 * Threads, memory: see nsys_rows.h.
 */
#include "read/nsys_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "event/call_name.h"
#include "write/copy_name.h"

enum {
    RECORDS_MOST = 2 << 20,
    CALL_NAME_MAX = 256,
    HEADER_TEXT = 256,      /* bytes of names of GPUs, processes and versions */
    STREAM_WAITS = 1000000, /* added to the stream in the tid of a wait, as in Kineto */
    MIGRATIONS = 2000000,   /* the tid of unified-memory migrations */
    SORT_DEVICES = 5000000, /* as in Kineto: devices stand below processes */
    FIRST_MIGRATION = 11,   /* kinds of copies */
    LAST_MIGRATION = 13,    /* 11 HtoD, 12 DtoH, 13 DtoD */
    NVTX_PUSH_POP = 59,     /* kinds of NVTX rows */
    NVTX_START_END = 60,
    PROCESS_BITS = 27, /* of a correlation id, below the number of the process */
    PROCESS_CONTEXTS = 1 << 16
};

#define NO_ID 4294967295 /* streams and events that a row does not have */
/* Bases of Kineto's times are multiples of this number of ns, so that all ranks of a job have the
 * same base. */
#define BASE_NS 7889238000000000
/* Times beyond about 73 years are wrong (json_row.hpp). */
#define TIME_MAX (INT64_MAX / 8)

#define PUT(n, literal) ((n)->at = SL_JSON_LITERAL((n)->at, literal))

static void put_text(struct sl_nsys *n, const char *text)
{
    n->at = sl_json_raw(n->at, text, strlen(text));
}

static void put_number(struct sl_nsys *n, int64_t v)
{
    n->at = sl_json_i64(n->at, v);
}

static void put_time(struct sl_nsys *n, int64_t ns)
{
    if (ns < 0)
        *n->at++ = '-';
    n->at = sl_json_micros(n->at, (uint64_t)(ns < 0 ? -ns : ns));
}

static int is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static int64_t number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_int64(row, column);
}

/* Writes a member of the args if the column is not NULL. */
static void put_arg(struct sl_nsys *n, sqlite3_stmt *row, int column, const char *key)
{
    if (is_null(row, column))
        return;
    PUT(n, ",\"");
    put_text(n, key);
    PUT(n, "\":");
    put_number(n, number(row, column));
}

/* ---- names ---- */

static size_t column_text(sqlite3_stmt *row, int column, const char **text)
{
    int size;

    *text = (const char *)sqlite3_column_text(row, column);
    size = *text ? sqlite3_column_bytes(row, column) : 0;
    return size < 0 ? 0 : (size_t)size > SL_NSYS_NAME_MAX ? SL_NSYS_NAME_MAX : (size_t)size;
}

/* Writes at most `most` bytes of a text, escaped. */
static void put_column(struct sl_nsys *n, sqlite3_stmt *row, int column, size_t most)
{
    const char *text;
    size_t size = column_text(row, column, &text);

    n->at = sl_json_escape(n->at, text ? text : "", size < most ? size : most);
}

/* Returns the string with this id, escaped. The text is valid until the next call. */
static struct sl_nsys_name *name_of(struct sl_nsys *n, int64_t id)
{
    struct sl_nsys_name *name = &n->names[(uint64_t)id % SL_NSYS_NAMES];
    const char *text;
    size_t size = 0;

    if (name->id == id)
        return name;
    free(name->text);
    *name = (struct sl_nsys_name){.id = id};
    sqlite3_reset(n->string);
    sqlite3_bind_int64(n->string, 1, id);
    if (id >= 0 && sl_nsys_step(n, n->string))
        size = column_text(n->string, 0, &text);
    name->text = malloc(size * SL_JSON_ESCAPE_MAX + 1);
    if (name->text && size)
        name->size = (size_t)(sl_json_escape(name->text, text, size) - name->text);
    if (id < 0 || !name->text)
        name->id = -1;
    return name;
}

static void put_name(struct sl_nsys *n, const struct sl_nsys_name *name)
{
    if (name->size)
        n->at = sl_json_raw(n->at, name->text, name->size);
    else
        PUT(n, "(no name)");
}

/* Copies the name of a call without its version ("cudaLaunchKernel_v7000", "cuMemAlloc_v2_ptds").
 * Returns the version, or 1. */
static unsigned without_version(char out[CALL_NAME_MAX], const struct sl_nsys_name *name)
{
    const char *text = name->text, *at = NULL;
    size_t size = name->size < CALL_NAME_MAX ? name->size : CALL_NAME_MAX - 1, digits = 0;
    unsigned version = 0;

    for (size_t i = 0; i + 2 < size && !digits; i++) {
        if (text[i] != '_' || text[i + 1] != 'v')
            continue;
        for (digits = 0, version = 0; i + 2 + digits < size && digits < 6; digits++) {
            char c = text[i + 2 + digits];

            if (c < '0' || c > '9')
                break;
            version = version * 10 + (unsigned)(c - '0');
        }
        if (i + 2 + digits < size && text[i + 2 + digits] != '_')
            digits = 0;
        at = text + i;
    }
    if (!digits) {
        memcpy(out, text, size);
        out[size] = '\0';
        return 1;
    }
    memcpy(out, text, (size_t)(at - text));
    memcpy(out + (at - text), at + 2 + digits, size - 2 - digits - (size_t)(at - text));
    out[size - 2 - digits] = '\0';
    return version;
}

/* Finds the callback id of a call. CUPTI's name of the id is the name with its version. The table
 * has the names without it, in the order of the versions. */
static void find_call(struct sl_nsys_name *name, int domain)
{
    const struct sl_call_name_row *rows =
        domain == SL_EV_DRIVER ? sl_call_names_driver : sl_call_names_runtime;
    unsigned count =
        domain == SL_EV_DRIVER ? sl_call_names_driver_count : sl_call_names_runtime_count;
    char wanted[CALL_NAME_MAX];
    unsigned version;

    name->domain = domain;
    name->call = NULL;
    if (!name->size)
        return;
    version = without_version(wanted, name);
    if (domain != SL_EV_DRIVER) /* the versions of the runtime are those of CUDA */
        version = 1;
    for (uint32_t i = 0; i < count && version; i++) {
        if (!rows[i].name || strcmp(rows[i].name, wanted) != 0)
            continue;
        name->call = rows[i].name;
        name->cbid = i;
        version--;
    }
}

/* ---- the frame of an event ---- */

static void begin_event(struct sl_nsys *n)
{
    if (n->has_event)
        PUT(n, ",\n");
    n->has_event = 1;
}

/* Ends the name of a row, and writes its process and thread, or device and stream. */
static void put_lane(struct sl_nsys *n, int64_t pid, int64_t tid)
{
    PUT(n, "\",\"pid\":");
    put_number(n, pid);
    PUT(n, ",\"tid\":");
    put_number(n, tid);
}

static void put_times(struct sl_nsys *n, int64_t start, int64_t end)
{
    PUT(n, ",\"ts\":");
    put_time(n, start + n->shift_ns);
    PUT(n, ",\"dur\":");
    put_time(n, end - start);
}

/* Returns whether the times of a row, its first columns, are possible. */
static int has_times(sqlite3_stmt *row)
{
    int64_t start = number(row, 0), end = number(row, 1);

    return start > -TIME_MAX && start < TIME_MAX && end > -TIME_MAX && end < TIME_MAX;
}

static void put_arrow(struct sl_nsys *n, const char *begin, int64_t id, int64_t pid, int64_t tid,
                      int64_t ns)
{
    begin_event(n);
    put_text(n, begin);
    PUT(n, ",\"cat\":\"ac2g\",\"id\":");
    put_number(n, id);
    PUT(n, ",\"name\":\"ac2g");
    put_lane(n, pid, tid);
    PUT(n, ",\"ts\":");
    put_time(n, ns + n->shift_ns);
    PUT(n, "}");
}

/* Writes the beginning of a metadata event, whose args the caller writes and closes. */
static void begin_metadata(struct sl_nsys *n, const char *name, int64_t pid, int64_t tid)
{
    begin_event(n);
    PUT(n, "{\"ph\":\"M\",\"name\":\"");
    put_text(n, name);
    put_lane(n, pid, tid);
    PUT(n, ",\"ts\":0.000,\"args\":{");
}

/* ---- processes and devices ---- */

static uint32_t pid_of(int64_t global)
{
    return (uint32_t)((uint64_t)global >> 24 & 0xffffff);
}

static int64_t tid_of(int64_t global)
{
    return global & 0xffffff;
}

static int find_process(const struct sl_nsys *n, uint32_t pid)
{
    for (unsigned i = 0; i < n->processes; i++)
        if (n->process[i] == pid)
            return (int)i;
    return -1;
}

static void put_process(struct sl_nsys *n, uint32_t pid)
{
    static const char *const columns[SL_NSYS_COLUMNS] = {"pid", "name"};
    sqlite3_stmt *row = sl_nsys_select(n, "PROCESSES", columns);
    int is_found = 0;

    begin_metadata(n, "process_name", pid, 0);
    PUT(n, "\"name\":\"");
    while (!is_found && sl_nsys_step(n, row))
        is_found = number(row, 0) == pid && !is_null(row, 1);
    if (is_found)
        put_column(n, row, 1, HEADER_TEXT);
    else
        PUT(n, "process");
    PUT(n, "\"}}");
    sqlite3_finalize(row);
    begin_metadata(n, "process_labels", pid, 0);
    PUT(n, "\"labels\":\"CPU\"}}");
}

/* Returns the number of a process. Correlation ids and contexts are numbers of a process, and a
 * file may have several. */
static unsigned process_of(struct sl_nsys *n, int64_t global)
{
    uint32_t pid = pid_of(global);
    int found = find_process(n, pid);

    if (found >= 0)
        return (unsigned)found;
    if (n->processes == SL_NSYS_PROCESSES)
        return SL_NSYS_PROCESSES - 1;
    put_process(n, pid);
    n->process[n->processes] = pid;
    return n->processes++;
}

static int64_t correlation_of(unsigned process, int64_t correlation)
{
    return correlation > 0 && correlation < NO_ID ? correlation + ((int64_t)process << PROCESS_BITS)
                                                  : correlation;
}

static int64_t context_of(unsigned process, int64_t context)
{
    return (int64_t)(uint32_t)context + (int64_t)process * PROCESS_CONTEXTS;
}

static void see_device(struct sl_nsys *n, int64_t device)
{
    if (device < 0 || device >= SL_NSYS_DEVICES || n->device_seen[device])
        return;
    n->device_seen[device] = 1;
    begin_metadata(n, "process_name", device, 0);
    PUT(n, "\"name\":\"GPU ");
    put_number(n, device);
    PUT(n, "\"}}");
    begin_metadata(n, "process_labels", device, 0);
    PUT(n, "\"labels\":\"GPU ");
    put_number(n, device);
    PUT(n, "\"}}");
    begin_metadata(n, "process_sort_index", device, 0);
    PUT(n, "\"sort_index\":");
    put_number(n, SORT_DEVICES + device);
    PUT(n, "}}");
}

static void put_thread_name(struct sl_nsys *n, sqlite3_stmt *row)
{
    int64_t global = number(row, 1);

    if (is_null(row, 1) || is_null(row, 2) || find_process(n, pid_of(global)) < 0)
        return;
    begin_metadata(n, "thread_name", pid_of(global), tid_of(global));
    PUT(n, "\"name\":\"");
    put_name(n, name_of(n, number(row, 2)));
    PUT(n, "\"}}");
}

static void put_stream(struct sl_nsys *n, sqlite3_stmt *row)
{
    int64_t stream = number(row, 1), context = number(row, 3);
    uint32_t pid = (uint32_t)number(row, 2), device = 0;
    int process = find_process(n, pid);

    if (process < 0 || stream < 0 || stream >= NO_ID)
        return;
    for (size_t i = 0; i < n->contexts; i++)
        if (n->context[i].process == pid && n->context[i].context == (uint32_t)context)
            device = n->context[i].device;
    begin_metadata(n, "thread_name", device, stream);
    PUT(n, "\"name\":\"stream ");
    put_number(n, stream);
    PUT(n, "\",\"context\":");
    put_number(n, context_of((unsigned)process, context));
    if (!is_null(row, 4) && number(row, 4) > 0)
        put_arg(n, row, 4, "stream flags");
    PUT(n, "}}");
}

/* ---- calls and ranges ---- */

static void put_call(struct sl_nsys *n, sqlite3_stmt *row)
{
    int domain = number(row, 2) == 1 ? SL_EV_DRIVER : SL_EV_RUNTIME;
    int64_t start = number(row, 0), global = number(row, 3);
    struct sl_nsys_name *name;
    int64_t correlation;

    if (!has_times(row))
        return;
    correlation = correlation_of(process_of(n, global), number(row, 4));
    name = name_of(n, number(row, 5));
    if (name->domain != domain)
        find_call(name, domain);
    begin_event(n);
    if (domain == SL_EV_DRIVER)
        PUT(n, "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"");
    else
        PUT(n, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
    if (name->call)
        put_text(n, name->call);
    else
        put_name(n, name);
    put_lane(n, pid_of(global), tid_of(global));
    put_times(n, start, number(row, 1));
    PUT(n, ",\"args\":{\"correlation\":");
    put_number(n, correlation);
    if (name->call) {
        PUT(n, ",\"cbid\":");
        put_number(n, name->cbid);
    }
    if (number(row, 6) > 0)
        put_arg(n, row, 6, "result");
    PUT(n, "}}");
    if (name->call && correlation > 0 && number(row, 6) == 0 &&
        sl_call_name_launches((enum sl_event_kind)domain, name->cbid))
        put_arrow(n, "{\"ph\":\"s\"", correlation, pid_of(global), tid_of(global), start);
}

static void put_range(struct sl_nsys *n, sqlite3_stmt *row)
{
    int64_t start = number(row, 0), end = is_null(row, 1) ? n->stop_ns : number(row, 1);
    int64_t type = number(row, 2), global = number(row, 3);

    if ((type != NVTX_PUSH_POP && type != NVTX_START_END) || !has_times(row) || end < start)
        return;
    process_of(n, global);
    begin_event(n);
    PUT(n, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"");
    if (!is_null(row, 4))
        put_column(n, row, 4, SL_NSYS_NAME_MAX);
    else
        put_name(n, name_of(n, is_null(row, 5) ? -1 : number(row, 5)));
    put_lane(n, pid_of(global), tid_of(global));
    put_times(n, start, end);
    if (is_null(row, 1))
        PUT(n, ",\"args\":{\"cut\":\"end\"}}");
    else
        PUT(n, ",\"args\":{}}");
}

static void put_overhead(struct sl_nsys *n, sqlite3_stmt *row)
{
    static const char *const names[] = {"Unknown",
                                        "Driver Compiler",
                                        "JIT",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full"};
    int64_t global = number(row, 2), type = number(row, 3);

    if (!has_times(row))
        return;
    begin_event(n);
    PUT(n, "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"");
    put_text(n, names[type >= 0 && type < (int64_t)(sizeof(names) / sizeof(*names)) ? type : 0]);
    put_lane(n, pid_of(global), tid_of(global));
    put_times(n, number(row, 0), number(row, 1));
    PUT(n, ",\"args\":{}}");
}

/* ---- GPU operations ---- */

enum { /* the first columns of the tables of operations */
    OP_DEVICE = 2,
    OP_CONTEXT,
    OP_STREAM,
    OP_CORRELATION,
    OP_PROCESS,
    OP_NODE,
    OP_OWN /* the first column of the table's own */
};

#define OP_COLUMNS                                                                                 \
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId"

/* Writes an operation without what its kind alone has, and leaves its args open. */
static void begin_operation(struct sl_nsys *n, sqlite3_stmt *row, const char *before,
                            const char *name, size_t name_size)
{
    unsigned process = process_of(n, number(row, OP_PROCESS));

    see_device(n, number(row, OP_DEVICE));
    begin_event(n);
    put_text(n, before);
    n->at = sl_json_raw(n->at, name, name_size);
    put_lane(n, number(row, OP_DEVICE), number(row, OP_STREAM));
    put_times(n, number(row, 0), number(row, 1));
    PUT(n, ",\"args\":{\"device\":");
    put_number(n, number(row, OP_DEVICE));
    PUT(n, ",\"context\":");
    put_number(n, context_of(process, number(row, OP_CONTEXT)));
    PUT(n, ",\"stream\":");
    put_number(n, number(row, OP_STREAM));
    PUT(n, ",\"correlation\":");
    put_number(n, correlation_of(process, number(row, OP_CORRELATION)));
    if (number(row, OP_NODE) > 0)
        put_arg(n, row, OP_NODE, "graph node id");
}

static void end_operation(struct sl_nsys *n, sqlite3_stmt *row)
{
    int64_t correlation =
        correlation_of(process_of(n, number(row, OP_PROCESS)), number(row, OP_CORRELATION));

    PUT(n, "}}");
    if (correlation > 0)
        put_arrow(n, "{\"ph\":\"f\",\"bp\":\"e\"", correlation, number(row, OP_DEVICE),
                  number(row, OP_STREAM), number(row, 0));
}

static void put_three(struct sl_nsys *n, sqlite3_stmt *row, int column, const char *key)
{
    PUT(n, ",\"");
    put_text(n, key);
    PUT(n, "\":[");
    put_number(n, number(row, column));
    PUT(n, ",");
    put_number(n, number(row, column + 1));
    PUT(n, ",");
    put_number(n, number(row, column + 2));
    PUT(n, "]");
}

static void put_kernel(struct sl_nsys *n, sqlite3_stmt *row)
{
    const struct sl_nsys_name *name;

    if (!has_times(row))
        return;
    name = name_of(n, is_null(row, OP_OWN) ? -1 : number(row, OP_OWN));
    begin_operation(n, row, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"",
                    name->size ? name->text : "(no name)", name->size ? name->size : 9);
    put_arg(n, row, OP_OWN + 1, "registers per thread");
    if (!is_null(row, OP_OWN + 2)) {
        PUT(n, ",\"shared memory\":");
        put_number(n,
                   (number(row, OP_OWN + 2) & UINT32_MAX) + (number(row, OP_OWN + 3) & UINT32_MAX));
    }
    if (!is_null(row, OP_OWN + 4))
        put_three(n, row, OP_OWN + 4, "grid");
    if (!is_null(row, OP_OWN + 7))
        put_three(n, row, OP_OWN + 7, "block");
    if (number(row, OP_OWN + 10) > 0)
        put_arg(n, row, OP_OWN + 10, "graph id");
    end_operation(n, row);
}

/* nsys numbers kinds of memory as CUPTI does, minus one, and 7 is an unknown kind. */
static uint8_t memory_kind(sqlite3_stmt *row, int column)
{
    int64_t kind = number(row, column);

    return is_null(row, column) || kind < 0 || kind > 6 ? 0 : (uint8_t)(kind + 1);
}

static void put_bytes(struct sl_nsys *n, sqlite3_stmt *row, int column)
{
    uint64_t bytes = (uint64_t)number(row, column);
    int64_t start = number(row, 0), end = number(row, 1);

    put_arg(n, row, column, "bytes");
    if (end <= start || bytes > UINT64_MAX / 1000000)
        return;
    PUT(n, ",\"memory bandwidth (GB/s)\":");
    n->at = sl_json_millionths(n->at, bytes * 1000000 / (uint64_t)(end - start));
}

/* A migration of unified memory is the work of no stream and has no call. */
static void put_migration(struct sl_nsys *n, sqlite3_stmt *row, int64_t kind)
{
    int64_t device = number(row, OP_DEVICE);

    see_device(n, device);
    if (device >= 0 && device < SL_NSYS_DEVICES && !n->migrated[device]) {
        n->migrated[device] = 1;
        begin_metadata(n, "thread_name", device, MIGRATIONS);
        PUT(n, "\"name\":\"unified memory\"}}");
    }
    begin_event(n);
    PUT(n, "{\"ph\":\"X\",\"cat\":\"unified_memory\",\"name\":\"Migration ");
    put_text(n, kind == 11 ? "HtoD" : kind == 12 ? "DtoH" : "DtoD");
    put_lane(n, device, MIGRATIONS);
    put_times(n, number(row, 0), number(row, 1));
    PUT(n, ",\"args\":{\"device\":");
    put_number(n, device);
    put_bytes(n, row, OP_OWN);
    PUT(n, "}}");
}

static void put_copy(struct sl_nsys *n, sqlite3_stmt *row)
{
    int64_t kind = number(row, OP_OWN + 1);
    struct sl_shape shape = {.copy_kind = kind >= 0 && kind < FIRST_MIGRATION ? (uint8_t)kind : 0,
                             .src_memory = memory_kind(row, OP_OWN + 2),
                             .dst_memory = memory_kind(row, OP_OWN + 3)};
    char name[SL_COPY_NAME_MOST];
    size_t size;

    if (!has_times(row))
        return;
    if (kind >= FIRST_MIGRATION && kind <= LAST_MIGRATION) {
        put_migration(n, row, kind);
        return;
    }
    size = sl_copy_name_put(name, SL_EV_MEMCPY, &shape);
    begin_operation(n, row, "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"", name, size);
    put_bytes(n, row, OP_OWN);
    end_operation(n, row);
}

static void put_memset(struct sl_nsys *n, sqlite3_stmt *row)
{
    struct sl_shape shape = {.dst_memory = memory_kind(row, OP_OWN + 1)};
    char name[SL_COPY_NAME_MOST];
    size_t size = sl_copy_name_put(name, SL_EV_MEMSET, &shape);

    if (!has_times(row))
        return;
    begin_operation(n, row, "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"", name, size);
    put_bytes(n, row, OP_OWN);
    end_operation(n, row);
}

/* A whole graph: nsys writes no nodes unless it is asked for them. */
static void put_graph(struct sl_nsys *n, sqlite3_stmt *row)
{
    static const char name[] = "CUDA Graph";

    if (!has_times(row))
        return;
    begin_operation(n, row, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"", name, sizeof(name) - 1);
    if (number(row, OP_OWN) > 0)
        put_arg(n, row, OP_OWN, "graph id");
    end_operation(n, row);
}

/* ---- waits ---- */

static uint64_t event_key(int64_t global, int64_t event)
{
    return (uint64_t)pid_of(global) << 32 | (uint32_t)event;
}

#define SYNC_KEY (1ull << 63) /* the key has the number of a record instead of an event */

static int compare_records(const void *x, const void *y)
{
    const struct sl_nsys_record *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

/* Returns the last record with this key and a correlation id below `before`, or NULL. */
static const struct sl_nsys_record *find_record(const struct sl_nsys *n, uint64_t key,
                                                int64_t before)
{
    size_t low = 0, high = n->records;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct sl_nsys_record *r = &n->record[middle];

        if (r->key < key || (r->key == key && r->correlation < before))
            low = middle + 1;
        else
            high = middle;
    }
    return low && n->record[low - 1].key == key ? &n->record[low - 1] : NULL;
}

/* Returns whether a value is an id and not one of the numbers for none. */
static int is_id(sqlite3_stmt *row, int column)
{
    return !is_null(row, column) && number(row, column) >= 0 && number(row, column) < NO_ID;
}

/* The number of the kind of wait is different in each version of nsys, and wrong in some. The
 * stream and the event tell the kind. */
static void put_wait(struct sl_nsys *n, sqlite3_stmt *row)
{
    enum {
        DEVICE = 2,
        CONTEXT,
        STREAM,
        CORRELATION,
        PROCESS,
        EVENT,
        SYNC_ID
    };
    int has_stream = is_id(row, STREAM), has_event = is_id(row, EVENT);
    const char *kind = has_stream && has_event ? "Stream Wait Event"
                       : has_event             ? "Event Sync"
                       : has_stream            ? "Stream Sync"
                                               : "Context Sync";
    int64_t global = number(row, PROCESS), correlation = number(row, CORRELATION);
    const struct sl_nsys_record *record = NULL;
    unsigned process;

    if (!has_times(row))
        return;
    process = process_of(n, global);
    see_device(n, number(row, DEVICE));
    if (has_event && is_id(row, SYNC_ID) && number(row, SYNC_ID) > 0)
        record = find_record(n, SYNC_KEY | event_key(global, number(row, SYNC_ID)), INT64_MAX);
    if (has_event && !record)
        record = find_record(n, event_key(global, number(row, EVENT)), correlation);
    begin_event(n);
    PUT(n, "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"");
    put_text(n, kind);
    put_lane(n, number(row, DEVICE), STREAM_WAITS + (has_stream ? number(row, STREAM) : 0));
    put_times(n, number(row, 0), number(row, 1));
    PUT(n, ",\"args\":{\"cuda_sync_kind\":\"");
    put_text(n, kind);
    PUT(n, "\",\"stream\":");
    put_number(n, has_stream ? number(row, STREAM) : -1);
    PUT(n, ",\"correlation\":");
    put_number(n, correlation_of(process, correlation));
    PUT(n, ",\"device\":");
    put_number(n, number(row, DEVICE));
    PUT(n, ",\"context\":");
    put_number(n, context_of(process, number(row, CONTEXT)));
    if (has_event)
        put_arg(n, row, EVENT, "wait_on_cuda_event_id");
    if (record) {
        PUT(n, ",\"wait_on_stream\":");
        put_number(n, record->stream);
        PUT(n, ",\"wait_on_cuda_event_record_corr_id\":");
        put_number(n, correlation_of(process, record->correlation));
        if (record->context != (uint32_t)number(row, CONTEXT)) {
            PUT(n, ",\"wait_on_context\":");
            put_number(n, context_of(process, record->context));
        }
    }
    PUT(n, "}}");
}

/* ---- what rows refer to ---- */

static void load_contexts(struct sl_nsys *n, const char *table)
{
    static const char *const columns[SL_NSYS_COLUMNS] = {"processId", "contextId", "deviceId"};
    sqlite3_stmt *row = sl_nsys_select(n, table, columns);

    while (n->contexts < SL_NSYS_CONTEXTS && sl_nsys_step(n, row))
        n->context[n->contexts++] = (struct sl_nsys_context){
            (uint32_t)number(row, 0), (uint32_t)number(row, 1), (uint32_t)number(row, 2)};
    sqlite3_finalize(row);
}

/* Adds one entry by event, and one by the number of the record if the row has it. */
static int load_records(struct sl_nsys *n)
{
    enum {
        STREAM,
        CONTEXT,
        CORRELATION,
        PROCESS,
        EVENT,
        SYNC_ID
    };
    static const char *const columns[SL_NSYS_COLUMNS] = {"streamId",  "contextId", "correlationId",
                                                         "globalPid", "eventId",   "eventSyncId"};
    sqlite3_stmt *row = sl_nsys_select(n, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns);
    size_t room = 0;

    while (n->records + 2 <= RECORDS_MOST && sl_nsys_step(n, row)) {
        struct sl_nsys_record record = {.correlation = (uint32_t)number(row, CORRELATION),
                                        .stream = (uint32_t)number(row, STREAM),
                                        .context = (uint32_t)number(row, CONTEXT)};

        if (!is_id(row, CORRELATION) || !is_id(row, STREAM))
            continue;
        if (n->records + 2 > room) {
            void *more;

            room = room ? 2 * room : 1024;
            more = realloc(n->record, room * sizeof(*n->record));
            if (!more) {
                sqlite3_finalize(row);
                return -ENOMEM;
            }
            n->record = more;
        }
        record.key = event_key(number(row, PROCESS), number(row, EVENT));
        n->record[n->records++] = record;
        if (!is_id(row, SYNC_ID) || number(row, SYNC_ID) == 0)
            continue;
        record.key = SYNC_KEY | event_key(number(row, PROCESS), number(row, SYNC_ID));
        n->record[n->records++] = record;
    }
    sqlite3_finalize(row);
    if (n->records)
        qsort(n->record, n->records, sizeof(*n->record), compare_records);
    return 0;
}

int sl_nsys_load(struct sl_nsys *n)
{
    static const char *const columns[SL_NSYS_COLUMNS] = {"stopTime"};
    sqlite3_stmt *row = sl_nsys_select(n, "ANALYSIS_DETAILS", columns);

    if (sl_nsys_step(n, row) && !is_null(row, 0) && number(row, 0) < TIME_MAX)
        n->stop_ns = number(row, 0);
    sqlite3_finalize(row);
    load_contexts(n, "TARGET_INFO_CUDA_NULL_STREAM");
    load_contexts(n, "TARGET_INFO_CUDA_CONTEXT_INFO");
    return load_records(n);
}

/* ---- the header ---- */

static void put_device(struct sl_nsys *n, sqlite3_stmt *row, int64_t id)
{
    static const char *const keys[] = {
        "totalGlobalMem", "computeMajor", "computeMinor",          "maxThreadsPerBlock",
        "warpSize",       "numSms",       "regsPerMultiprocessor", "sharedMemPerMultiprocessor"};

    PUT(n, "{\"id\":");
    put_number(n, id);
    PUT(n, ",\"name\":\"");
    put_column(n, row, 2, HEADER_TEXT);
    PUT(n, "\"");
    for (int i = 0; i < (int)(sizeof(keys) / sizeof(*keys)); i++)
        put_arg(n, row, 3 + i, keys[i]);
    PUT(n, "}");
}

/* Writes the GPUs by the numbers that CUDA gives them. Old files have no table of these numbers;
 * then each GPU has its own. */
static void put_devices(struct sl_nsys *n)
{
    static const char *const gpu[SL_NSYS_COLUMNS] = {
        "id",           "cuDevice",           "name",           "totalMemory", "computeMajor",
        "computeMinor", "maxThreadsPerBlock", "threadsPerWarp", "smCount",     "maxRegistersPerSm",
        "maxShmemPerSm"};
    static const char *const cuda[SL_NSYS_COLUMNS] = {"gpuId", "cudaId"};
    int64_t gpus[64], ids[64], known = 0, count = 0;
    sqlite3_stmt *row = sl_nsys_select(n, "TARGET_INFO_CUDA_DEVICE", cuda);

    for (; known < 64 && sl_nsys_step(n, row); known++) {
        gpus[known] = number(row, 0);
        ids[known] = number(row, 1);
    }
    sqlite3_finalize(row);
    row = sl_nsys_select(n, "TARGET_INFO_GPU", gpu);
    while (count < 64 && sl_nsys_step(n, row)) {
        int64_t id = is_null(row, 1) ? number(row, 0) : number(row, 1), i = 0;

        while (i < known && gpus[i] != number(row, 0))
            i++;
        if (i < known)
            id = ids[i];
        else if (known)
            continue; /* a GPU that no process used, or none of CUDA's */
        if (count++)
            PUT(n, ",");
        put_device(n, row, id);
    }
    sqlite3_finalize(row);
}

/* Writes a value of a table of names and values as a member of the trace. */
static void put_value(struct sl_nsys *n, const char *table, const char *name, const char *key)
{
    static const char *const columns[SL_NSYS_COLUMNS] = {"name", "value"};
    sqlite3_stmt *row = sl_nsys_select(n, table, columns);
    const char *text;

    while (sl_nsys_step(n, row)) {
        size_t size = column_text(row, 0, &text);

        if (size != strlen(name) || memcmp(text, name, size) != 0)
            continue;
        PUT(n, "\"");
        put_text(n, key);
        PUT(n, "\":\"");
        put_column(n, row, 1, HEADER_TEXT);
        PUT(n, "\",\n");
        break;
    }
    sqlite3_finalize(row);
}

void sl_nsys_put_header(struct sl_nsys *n)
{
    static const char *const columns[SL_NSYS_COLUMNS] = {"utcEpochNs"};
    sqlite3_stmt *row = sl_nsys_select(n, "TARGET_INFO_SESSION_START_TIME", columns);
    int64_t epoch = sl_nsys_step(n, row) ? number(row, 0) : 0;

    sqlite3_finalize(row);
    PUT(n, "{\n\"schemaVersion\":1,\n\"deviceProperties\":[");
    put_devices(n);
    PUT(n, "],\n");
    put_value(n, "META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "nsys_version");
    put_value(n, "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "nsys_schema_version");
    put_value(n, "TARGET_INFO_SYSTEM_ENV", "Hostname", "host_name");
    PUT(n, "\"displayTimeUnit\":\"ms\",\n");
    if (epoch > 0) {
        PUT(n, "\"baseTimeNanoseconds\":");
        put_number(n, epoch - epoch % BASE_NS);
        PUT(n, ",\n");
        n->shift_ns = epoch % BASE_NS;
    }
    PUT(n, "\"traceEvents\":[\n");
}

/* ---- the tables ---- */

#define KIND "CUPTI_ACTIVITY_KIND_"

const struct sl_nsys_table sl_nsys_tables[] = {
    {"NVTX_EVENTS",
     {"start", "end", "eventType", "globalTid", "text", "textId"},
     "globalTid",
     put_range},
    {KIND "RUNTIME",
     {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"},
     "end",
     put_call},
    {KIND "OVERHEAD", {"start", "end", "globalTid", "overheadType"}, "overheadType", put_overhead},
    {KIND "SYNCHRONIZATION",
     {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId",
      "eventSyncId"},
     "end",
     put_wait},
    {KIND "KERNEL",
     {OP_COLUMNS, "demangledName", "registersPerThread", "staticSharedMemory",
      "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "graphId"},
     "end",
     put_kernel},
    {KIND "MEMCPY", {OP_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind"}, "end", put_copy},
    {KIND "MEMSET", {OP_COLUMNS, "bytes", "memKind"}, "end", put_memset},
    {KIND "GRAPH_TRACE", {OP_COLUMNS, "graphId"}, "end", put_graph},
    {"ThreadNames", {NULL, "globalTid", "nameId"}, NULL, put_thread_name},
    {"TARGET_INFO_CUDA_STREAM",
     {NULL, "streamId", "processId", "contextId", "flag"},
     NULL,
     put_stream},
};
const size_t sl_nsys_table_count = sizeof(sl_nsys_tables) / sizeof(*sl_nsys_tables);
