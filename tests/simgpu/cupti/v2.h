/*
 * v2.h - types of CUPTI 13.2's subscriber calls, which the headers that this is built with may
 * lack. Names and members are those of NVIDIA's header, so that its documentation applies.
 */
#ifndef SIMCUPTI_V2_H
#define SIMCUPTI_V2_H

#include "cupti/simcupti.h"

#define SIM_ATTR_ENABLE_ALL_SYNC_RECORDS 16
#define SIM_ATTR_THREAD_ID_TYPE          21

struct sim_subscriber_params {
    size_t structSize;
    const char *subscriberName;
    char *oldSubscriberName;
    size_t oldSubscriberSize;
    uint8_t allowMultipleSubscribers;
    uint8_t padding[7];
};

struct sim_request_info {
    size_t structSize;
};

struct sim_complete_info {
    size_t structSize;
    uint64_t threadId;
    void **ppRecordLayouts;
    size_t numRecordLayouts;
};

#endif
