/*
 * replay.c - supports a process that replays a recording. CUDA reports the GPUs of the recording,
 * and CUPTI gets the recorded reports instead of reports about the process itself.
 *
 * The replaying program calls sim_replay_begin() once, before cuInit. Any thread may call the other
 * functions, which change nothing.
 */
#include "core/sim.h"

static bool replaying;
static const struct sim_device_info *devices;
static uint32_t device_count;

void sim_replay_begin(const struct sim_device_info *info, uint32_t count)
{
    devices = info;
    device_count = count;
    replaying = true;
}

bool sim_replaying(void)
{
    return replaying;
}

const struct sim_device_info *sim_replay_devices(uint32_t *count)
{
    *count = device_count;
    return devices;
}

const struct sim_probe *sim_replay_probe(void)
{
    return sim_probe_registered();
}

struct sim_op *sim_replay_op(void)
{
    sim_lock();
    struct op *op = sim_op_new();

    sim_unlock();
    return op ? &op->pub : NULL;
}
