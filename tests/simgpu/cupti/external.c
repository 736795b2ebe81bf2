/*
 * external.c - external correlation: a stack of ids for each kind and thread. When an API call
 * begins, CUPTI makes one record for each kind, with the id at the top of the thread's stack.
 *
 * Each thread has its own stacks.
 */
#include "cupti/simcupti.h"

#define KINDS 6 /* UNKNOWN = 1 .. CUSTOM2 = 5 */
#define DEPTH 128

static __thread struct {
    uint64_t id[DEPTH];
    uint32_t depth;
} stacks[KINDS];

static bool bad_kind(int kind)
{
    return kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= KINDS;
}

void sim_external_records(uint32_t correlation)
{
    struct sim_place place;

    for (uint32_t kind = 1; kind < KINDS; kind++) {
        if (stacks[kind].depth &&
            sim_place_open(&place, R_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                           correlation, NULL)) {
            sim_put(&place, F_externalKind, kind);
            sim_put(&place, F_externalId, stacks[kind].id[stacks[kind].depth - 1]);
            sim_put(&place, F_correlationId, correlation);
            sim_place_close(&place);
        }
    }
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    SIM_ENTRY();
    if (bad_kind((int)kind)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (stacks[kind].depth == DEPTH) {
        return sim_error(CUPTI_ERROR_OUT_OF_MEMORY);
    }
    stacks[kind].id[stacks[kind].depth++] = id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *lastId)
{
    SIM_ENTRY();
    if (bad_kind((int)kind)) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (!stacks[kind].depth) {
        return sim_error(CUPTI_ERROR_QUEUE_EMPTY);
    }
    uint64_t id = stacks[kind].id[--stacks[kind].depth];

    if (lastId) {
        *lastId = id;
    }
    return CUPTI_SUCCESS;
}
