/*
 * replay.c - makes the records of a recording again, with the ids of the recorded threads, or as
 * unchanged copies of the recorded bytes.
 *
 * Threads: threads of the replaying program. A thread may have a guise: the ids of a recorded
 * thread, which the thread's records contain. Injected failures affect replayed records too, and
 * lanes and buffers are the same as for live records. Only kinds that the client enabled are
 * replayed.
 */
#include <string.h>

#include "cupti/simcupti.h"

#define MAX_KINDS 64

static __thread struct sim_guise guise; /* `thread` is 0 if this thread has no guise */
static _Atomic uint16_t raw_size[MAX_KINDS];
static _Atomic uint64_t flushes;

void sim_replay_wear(const struct sim_guise *g)
{
    guise = *g;
}

uint32_t sim_replay_thread(void)
{
    return guise.thread;
}

uint32_t sim_process(void)
{
    return guise.thread ? guise.process : sim_process_id;
}

static bool is_time(unsigned field)
{
    return field == F_start || field == F_end || field == F_completed || field == F_queued ||
           field == F_submitted;
}

static bool is_wanted(const struct sim_raw_record *raw)
{
    switch (raw->kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return sim_api_on(SIM_RUNTIME, (uint32_t)sim_get(raw->bytes, R_API, F_cbid));
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sim_api_on(SIM_DRIVER, (uint32_t)sim_get(raw->bytes, R_API, F_cbid));
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return sim_kind_on(raw->kind, 0) && sim_kind_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0);
    default:
        return sim_kind_on(raw->kind, 0);
    }
}

/* Returns a field's value. Times are converted to CLOCK_REALTIME. */
static uint64_t value_of(const struct sim_raw_record *raw, enum sim_record record, unsigned field)
{
    uint64_t value = sim_get(raw->bytes, record, field);

    return value && is_time(field) ? raw->real_time(raw->user, value) : value;
}

/* Copies the fields that the client has selected. */
static void fill_chosen(const struct sim_raw_record *raw)
{
    enum sim_record record = sim_record_of(raw->kind);
    struct sim_place place;

    if (!sim_place_open(&place, record, raw->kind, raw->correlation, NULL)) {
        return;
    }
    for (unsigned f = 0; f < F_COUNT; f++) {
        if (place.layout->field[f].width && f != F_kind) {
            sim_put(&place, f, value_of(raw, record, f));
        }
    }
    if (raw->has_text && place.layout->field[F_name].width) {
        sim_put(&place, F_name, (uintptr_t)sim_name_copy(&place.buffer->names, raw->text));
    }
    sim_place_close(&place);
}

void sim_replay_raw(const struct sim_raw_record *raw)
{
    struct sim_place place;
    enum sim_record record = raw->kind < MAX_KINDS ? sim_record_of(raw->kind) : R_COUNT;
    const struct sim_layout *layout = record < R_COUNT ? sim_version()->layout[record] : NULL;
    size_t known = layout ? layout->size : 0;

    /* The size must be the size in this CUPTI version, because the client steps from record to
     * record by the sizes of this version. */
    if (raw->kind >= MAX_KINDS || (known && known != raw->size)) {
        sim_log("{\"what\":\"misuse\",\"problem\":\"a record of another version\",\"kind\":%u}",
                raw->kind);
        return;
    }
    if (!is_wanted(raw)) {
        return;
    }
    if (sim_fields_on()) {
        if (sim_fields_chosen(raw->kind)) {
            fill_chosen(raw);
        }
        return;
    }
    raw_size[raw->kind] = (uint16_t)raw->size;
    if (!sim_place_open_raw(&place, raw)) {
        return;
    }
    memcpy(place.record, raw->bytes, raw->size);
    place.layout = layout;
    for (unsigned f = 0; layout && f < F_COUNT; f++) {
        if (layout->field[f].width && is_time(f)) {
            sim_put(&place, f, value_of(raw, record, f));
        }
    }
    if (raw->has_text) {
        uint64_t address = (uintptr_t)sim_name_copy(&place.buffer->names, raw->text);

        memcpy(place.record + raw->text_offset, &address, sizeof address);
    }
    sim_place_close(&place);
}

size_t sim_replay_size(uint32_t kind)
{
    return kind < MAX_KINDS ? raw_size[kind] : 0;
}

void sim_replay_count_flush(void)
{
    atomic_fetch_add_explicit(&flushes, 1, memory_order_relaxed);
}

uint64_t sim_replay_flushes(void)
{
    return atomic_load_explicit(&flushes, memory_order_relaxed);
}
