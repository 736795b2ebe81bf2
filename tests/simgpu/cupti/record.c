/*
 * record.c - writes a record's bytes in this version's layout.
 *
 * Threads: the thread that owns the record's buffer. Fields that this CUPTI version lacks are not
 * written.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cupti/simcupti.h"

_Atomic uint32_t sim_thread_id_type[SIM_CLIENTS]; /* CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT */

void sim_put(const struct sim_place *place, enum sim_field field, uint64_t value)
{
    const struct sim_layout *layout = place->layout;
    uint8_t *at = place->record + layout->field[field].offset;

    switch (layout->field[field].width) { /* the sizes are constants, so that each copy is one store
                                             instead of a call */
    case 8:
        memcpy(at, &value, 8);
        break;
    case 4:
        memcpy(at, &(uint32_t){(uint32_t)value}, 4);
        break;
    case 2:
        memcpy(at, &(uint16_t){(uint16_t)value}, 2);
        break;
    case 1:
        *at = (uint8_t)value;
        break;
    default: /* this version has no such field, or it was not selected */
        break;
    }
}

uint64_t sim_get(const uint8_t *record, enum sim_record type, enum sim_field field)
{
    const struct sim_layout *layout = sim_version()->layout[type];
    uint64_t value = 0;

    /* Copying fewer bytes than `value` has works, because the machine is little-endian. */
    memcpy(&value, record + layout->field[field].offset, layout->field[field].width);
    return value;
}

uint32_t sim_thread_id(void)
{
    static __thread uint32_t system_id;

    if (sim_replay_thread()) {
        return sim_replay_thread();
    }

    /* The header documents the default: pthread_self(), truncated to 32 bits. */
    if (sim_thread_id_type[sim_client] == CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT) {
        return (uint32_t)(uintptr_t)pthread_self();
    }
    if (!system_id) {
        system_id = (uint32_t)gettid();
    }
    return system_id;
}

static void put_kernel(struct sim_place *place, const struct sim_op *op)
{
    sim_put(place, F_registersPerThread, op->registers);
    sim_put(place, F_gridX, op->grid[0]);
    sim_put(place, F_gridY, op->grid[1]);
    sim_put(place, F_gridZ, op->grid[2]);
    sim_put(place, F_blockX, op->block[0]);
    sim_put(place, F_blockY, op->block[1]);
    sim_put(place, F_blockZ, op->block[2]);
    sim_put(place, F_clusterX, op->cluster[0]);
    sim_put(place, F_clusterY, op->cluster[1]);
    sim_put(place, F_clusterZ, op->cluster[2]);
    sim_put(place, F_staticSharedMemory, op->static_shared);
    sim_put(place, F_dynamicSharedMemory, op->dynamic_shared);
    sim_put(place, F_sharedMemoryExecuted, op->static_shared + op->dynamic_shared);
    sim_put(place, F_localMemoryPerThread, op->local_per_thread);
    sim_put(place, F_gridId, op->id);
    sim_put(place, F_launchType, CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
    sim_put(place, F_priority, (uint32_t)op->priority);
    sim_put(place, F_name, (uintptr_t)sim_name_copy(&place->buffer->names, op->name));
}

static void put_copy(const struct sim_place *place, enum sim_record type, const struct sim_op *op)
{
    sim_put(place, F_copyKind, op->copy_kind);
    sim_put(place, F_srcKind, op->src_memory);
    sim_put(place, F_dstKind, op->dst_memory);
    sim_put(place, F_flags, op->flags);
    sim_put(place, F_bytes, op->bytes);
    sim_put(place, F_copyCount, 1);
    if (type == R_MEMCPY2) {
        sim_put(place, F_srcDeviceId, op->src_device);
        sim_put(place, F_srcContextId, op->src_context);
        sim_put(place, F_dstDeviceId, op->dst_device);
        sim_put(place, F_dstContextId, op->dst_context);
    }
}

void sim_record_op(struct sim_place *place, enum sim_record type, uint32_t kind, struct sim_op *op)
{
    sim_put(place, F_kind, kind);
    sim_put(place, F_deviceId, op->device);
    sim_put(place, F_contextId, op->context);
    sim_put(place, F_streamId, op->stream);
    sim_put(place, F_correlationId, op->correlation);
    sim_put(place, F_graphId, op->graph);
    sim_put(place, F_graphNodeId, op->graph_node);
    sim_put(place, F_channelID, op->channel);
    sim_put(place, F_channelType, op->channel_type);
    if (type == R_KERNEL) {
        put_kernel(place, op);
    } else if (type == R_MEMSET) {
        sim_put(place, F_value, op->value);
        sim_put(place, F_bytes, op->bytes);
        sim_put(place, F_flags, op->flags);
        sim_put(place, F_memoryKind, op->dst_memory);
    } else {
        put_copy(place, type, op);
    }
}

void sim_record_op_end(struct sim_slot *slot, uint8_t *r)
{
    const struct sim_op *op = slot->op;
    const struct sim_place *place = &(struct sim_place){.record = r, .layout = slot->layout};

    if (sim_trouble.no_time > 0 && sim_random("cupti-no-time", slot->key) < sim_trouble.no_time) {
        sim_log_record("no-time", slot);
        return;
    }
    uint64_t start = op->start_ns, end = op->end_ns;

    sim_clock_convert(slot->clock, &start, &end);
    sim_put(place, F_start, start);
    sim_put(place, F_end, end);
    if (slot->record == R_KERNEL) {
        sim_put(place, F_completed, end);
        if (sim_switches()->latency_timestamps) {
            uint64_t queued = op->queued_ns, submitted = op->submitted_ns;

            sim_clock_convert(slot->clock, &queued, &submitted);
            sim_put(place, F_queued, queued);
            sim_put(place, F_submitted, submitted);
        }
    }
}
