/*
 * deep_read.c - turns records of the deep levels (deep.h) into rows.
 *
 * Threads, memory: see deep_read.h.
 */
#include "collect/nccl/deep_read.h"

#include <string.h>

#include "base/json.h"
#include "base/text_table.h"

#define TEXT_MOST 1024
/* The GPU's global timer is CLOCK_REALTIME in ns, as measured on an H200. Other values are left
 * out. */
#define TIMER_APART_NS 600000000000ull

static struct sl_nccl_task *slot_of(struct sl_nccl_deep_read *d, uint64_t handle)
{
    return &d->task[((handle >> SL_NCCL_KIND_BITS) + (handle >> 40) * 0x9e37u) % SL_NCCL_TASKS];
}

void sl_nccl_deep_read_task(struct sl_nccl_deep_read *d, const struct sl_nccl_task *task)
{
    *slot_of(d, task->handle) = *task;
}

#define PUT_U32(at, name, value) sl_json_u32(SL_JSON_LITERAL(at, ",\"" name "\":"), value)

static char *put_task(char *at, const struct sl_nccl_task *task)
{
    struct sl_nccl_comm comm;
    size_t length = 0;
    const char *func = sl_text_table_get(task->func, &length);

    if (func) {
        at = sl_json_escape(SL_JSON_LITERAL(at, ",\"NCCL call\":\""), func, length);
        *at++ = '"';
    }
    if (sl_nccl_plugin_comm(task->comm, &comm))
        return at;
    at = sl_json_hex(SL_JSON_LITERAL(at, ",\"Comm\":\"0x"), comm.hash, 16);
    at = sl_json_i64(SL_JSON_LITERAL(at, "\",\"Comm ranks\":"), comm.ranks);
    return sl_json_i64(SL_JSON_LITERAL(at, ",\"Comm rank\":"), comm.rank);
}

static void add_net(struct sl_nccl_rows *rows, const struct sl_nccl_task *task,
                    const struct sl_nccl_deep *record, uint64_t ns)
{
    int is_sent = record->record.parts == SL_NCCL_RECORD_SENT;
    const char *name = is_sent ? "send" : "receive";
    uint64_t length_ns = record->length_ns < ns ? record->length_ns : 0;
    struct sl_nccl_row row = {.track = SL_NCCL_TRACK_NET,
                              .start_ns = ns - length_ns,
                              .end_ns = ns,
                              .number = task->number,
                              .has_net = 1,
                              .bytes = record->bytes,
                              .gpu_wait_ns = record->gpu_wait_ns,
                              .net_wait_ns = record->net_wait_ns};
    char text[TEXT_MOST], *at = text;

    at = sl_json_i64(SL_JSON_LITERAL(at, "\"peer\":"), (int32_t)record->peer);
    at = PUT_U32(at, "channel", record->channel);
    at = PUT_U32(at, "steps", record->steps);
    at = put_task(PUT_U32(at, "chunk bytes", record->chunk_bytes), task);
    row.name = sl_nccl_rows_intern(rows, name, strlen(name));
    row.args = sl_nccl_rows_intern(rows, text, (size_t)(at - text));
    sl_nccl_rows_add(rows, &row);
}

static void add_channel(struct sl_nccl_deep_read *d, struct sl_nccl_rows *rows,
                        const struct sl_nccl_task *task, const struct sl_nccl_deep *record,
                        uint64_t ns)
{
    static const char name[] = "channel";
    struct sl_nccl_row row = {.track = SL_NCCL_TRACK_CHANNELS,
                              .start_ns = record->start_ns,
                              .end_ns = record->end_ns,
                              .number = task->number};
    char text[TEXT_MOST], *at = text;

    if (row.start_ns > row.end_ns || row.start_ns + TIMER_APART_NS < ns ||
        row.end_ns > ns + TIMER_APART_NS) {
        d->odd++;
        return;
    }
    at = sl_json_u32(SL_JSON_LITERAL(at, "\"channel\":"), record->channel);
    at = put_task(at, task);
    row.name = sl_nccl_rows_intern(rows, name, sizeof(name) - 1);
    row.args = sl_nccl_rows_intern(rows, text, (size_t)(at - text));
    sl_nccl_rows_add(rows, &row);
}

void sl_nccl_deep_read_record(struct sl_nccl_deep_read *d, struct sl_nccl_rows *rows,
                              const struct sl_nccl_deep *record, uint64_t ns)
{
    const struct sl_nccl_task *found = slot_of(d, record->parent);
    struct sl_nccl_task task = {.number = UINT64_MAX, .comm = record->record.aux};

    if (found->handle == record->parent && record->parent)
        task = *found;
    if (task.is_left)
        return;
    if (record->record.parts == SL_NCCL_RECORD_CHANNEL)
        add_channel(d, rows, &task, record, ns);
    else
        add_net(rows, &task, record, ns);
}
