/*
 * v2.h - types of the CUPTI 13.2 subscriber calls, which the installed headers may lack. Names and
 * members match NVIDIA's header, so that its documentation applies.
 */
#ifndef SIMCUPTI_V2_H
#define SIMCUPTI_V2_H

#include "cupti/simcupti.h"

#define SIM_ATTR_ENABLE_ALL_SYNC_RECORDS 16
#define SIM_ATTR_THREAD_ID_TYPE          21
#define SIM_ATTR_TIMESTAMP_CALLBACK      22
#define SIM_ATTR_USER_DEFINED_RECORDS    11

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

struct sim_field_place { /* CUpti_ActivityFieldLayoutEntry */
    size_t structSize;
    int fieldId;
    size_t offset, size, alignment;
};

struct sim_record_places { /* CUpti_ActivityRecordLayout */
    size_t structSize;
    struct sim_field_place *pEntries;
    size_t numFields;
    size_t recordSize;
};

struct sim_complete_info {
    size_t structSize;
    uint64_t threadId;
    struct sim_record_places **ppRecordLayouts; /* by kind; NULL if there is none */
    size_t numRecordLayouts;
};

struct sim_calls { /* CUpti_ActivityApiCbidOptions */
    size_t structSize;
    CUpti_CallbackId *pCbids;
    size_t numCbids;
    uint8_t enable;
};

struct sim_calls_option { /* CUpti_ActivityApiOptions */
    size_t structSize;
    struct sim_calls *pCbidOptions;
};

struct sim_config { /* CUpti_ActivityConfig */
    size_t structSize;
    struct {
        size_t structSize;
        size_t numFields;
        int *pFieldIds;
    } fieldSelection;
    struct sim_calls_option *pKindOptions; /* from 13.4 */
};

#endif
