/*
 * nccl_nvtx.c - the NVTX ranges of NCCL: a range of domain "NCCL" around each call, with a payload.
 *
 * The names of schema members and enum values are NCCL's, and so are the ids, which depend on the
 * version. There are no ranges unless the option `nccl` chooses a version, and with
 * NCCL_NVTX_DISABLE. Application threads.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "libraries/nccl.h"

/* All payloads have the members of this struct that their function needs, in this order. */
struct payload {
    uint64_t comm;
    size_t bytes;
    int other; /* root or peer */
    int op;
};

enum {
    PLAIN, /* comm, bytes */
    ROOTED,
    PEER,
    REDUCES,
    REDUCES_TO_ROOT,
    SHAPES,
    SCHEMA = 1 << 24 /* first id of static schemas */
};

static const struct {
    const char *name;
    int shape;
} verbs[] = {
    [NCCL_ALL_REDUCE] = {"ncclAllReduce", REDUCES},
    [NCCL_BROADCAST] = {"ncclBroadcast", ROOTED},
    [NCCL_REDUCE] = {"ncclReduce", REDUCES_TO_ROOT},
    [NCCL_ALL_GATHER] = {"ncclAllGather", PLAIN},
    [NCCL_REDUCE_SCATTER] = {"ncclReduceScatter", REDUCES},
    [NCCL_ALL_TO_ALL] = {"ncclAlltoAll", PLAIN},
    [NCCL_SEND] = {"ncclSend", PEER},
    [NCCL_RECEIVE] = {"ncclRecv", PEER},
    [NCCL_GATHER] = {"ncclGather", ROOTED},
    [NCCL_SCATTER] = {"ncclScatter", ROOTED},
};

enum {
    VERBS = sizeof verbs / sizeof *verbs
};

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t verb_name[VERBS], start_name, end_name;

static uint64_t enum_id(void)
{
    int version = sim_nccl_version();

    return SCHEMA + (version < 22600   ? 14
                     : version < 22700 ? 15
                     : version < 22800 ? 16
                     : version < 22900 ? 20
                                       : 24);
}

static void register_schemas(void)
{
    static const nvtxPayloadEnum_t ops[] = {
        {"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}, {"Min", 3, 0}, {"Avg", 4, 0}};
    const nvtxPayloadEnumAttr_t op = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
                                      .entries = ops,
                                      .numEntries = 5,
                                      .sizeOfEnum = sizeof(int),
                                      .schemaId = enum_id()};
    const nvtxPayloadSchemaEntry_t comm = {0,
                                           NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
                                           "NCCL communicator ID",
                                           NULL,
                                           0,
                                           offsetof(struct payload, comm),
                                           NULL,
                                           NULL},
                                   bytes = {0,
                                            NVTX_PAYLOAD_ENTRY_TYPE_SIZE,
                                            "Message size [bytes]",
                                            NULL,
                                            0,
                                            offsetof(struct payload, bytes),
                                            NULL,
                                            NULL},
                                   root = {0, NVTX_PAYLOAD_ENTRY_TYPE_INT,     "Root", NULL,
                                           0, offsetof(struct payload, other), NULL,   NULL},
                                   peer = {0, NVTX_PAYLOAD_ENTRY_TYPE_INT,     "Peer rank", NULL,
                                           0, offsetof(struct payload, other), NULL,        NULL},
                                   reduction = {0,    enum_id(), "Reduction operation",
                                                NULL, 0,         offsetof(struct payload, op),
                                                NULL, NULL};
    const nvtxPayloadSchemaEntry_t members[SHAPES][4] = {
        [PLAIN] = {comm, bytes},
        [ROOTED] = {comm, bytes, root},
        [PEER] = {comm, bytes, peer},
        [REDUCES] = {comm, bytes, reduction},
        [REDUCES_TO_ROOT] = {comm, bytes, root, reduction},
    };
    static const size_t counts[] = {2, 3, 3, 3, 4};

    nvtxPayloadEnumRegister(domain, &op);
    for (int i = 0; i < SHAPES; i++) {
        const nvtxPayloadSchemaAttr_t schema = {.fieldMask =
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
                                                .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                                .entries = members[i],
                                                .numEntries = counts[i],
                                                .payloadStaticSize = sizeof(struct payload),
                                                .schemaId = SCHEMA + (uint64_t)i};

        nvtxPayloadSchemaRegister(domain, &schema);
    }
}

static void set_up(void)
{
    const char *off = getenv("NCCL_NVTX_DISABLE");

    if (!sim_option("NCCL") || (off && strcmp(off, "0") != 0)) {
        return;
    }
    domain = nvtxDomainCreateA("NCCL");
    for (int i = 0; i < VERBS; i++) {
        verb_name[i] = nvtxDomainRegisterStringA(domain, verbs[i].name);
    }
    start_name = nvtxDomainRegisterStringA(domain, "ncclGroupStart");
    end_name = nvtxDomainRegisterStringA(domain, "ncclGroupEnd");
    if (domain) {
        register_schemas();
    }
}

static void push(nvtxStringHandle_t name, const nvtxPayloadData_t *payload)
{
    const nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                              .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                              .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                              .message.registered = name,
                                              .payloadType =
                                                  payload ? (int32_t)NVTX_PAYLOAD_TYPE_EXT : 0,
                                              .reserved0 = payload ? 1 : 0,
                                              .payload.ullValue = (uint64_t)(uintptr_t)payload};

    nvtxDomainRangePushEx(domain, &attributes);
}

static bool is_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_up);
    return domain != NULL;
}

void sim_nccl_range_call(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    const struct payload payload = {comm->hash, task->count * sim_nccl_size(task->type), task->peer,
                                    task->op};
    nvtxPayloadData_t data;

    if (is_on()) {
        data = (nvtxPayloadData_t){SCHEMA + (uint64_t)verbs[task->verb].shape, sizeof payload,
                                   &payload};
        push(verb_name[task->verb], &data);
    }
}

void sim_nccl_range_group(bool is_end)
{
    if (is_on()) {
        push(is_end ? end_name : start_name, NULL);
    }
}

void sim_nccl_range_end(void)
{
    if (is_on()) {
        nvtxDomainRangePop(domain);
    }
}
