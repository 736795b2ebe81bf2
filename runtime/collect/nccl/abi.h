/*
 * abi.h - the binary interface of NCCL's profiler plugins, versions 4 to 7, as far as we use it.
 *
 * NCCL defines the interface by C structs. The declarations here are our own. Their offsets were
 * compared with the debug information of libnccl 2.27 to 2.32 on x86-64. Versions differ in three
 * ways: version 4 has an 8-bit type and another order of init's arguments, and later versions add
 * members at the ends of the members of the union.
 */
#ifndef SL_NCCL_ABI_H
#define SL_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Types of events, which are also the bits of the mask by which a plugin asks for events. NCCL also
 * sends GROUP_API if any API, launch or task bit is set, and GROUP if COLL or P2P is set. */
enum {
    SL_NCCL_GROUP = 1 << 0,
    SL_NCCL_COLL = 1 << 1,
    SL_NCCL_P2P = 1 << 2,
    SL_NCCL_PROXY_OP = 1 << 3,
    SL_NCCL_PROXY_STEP = 1 << 4,
    SL_NCCL_KERNEL_CH = 1 << 6,
    SL_NCCL_GROUP_API = 1 << 8,
    SL_NCCL_COLL_API = 1 << 9,
    SL_NCCL_P2P_API = 1 << 10,
    SL_NCCL_KERNEL_LAUNCH = 1 << 11,
    SL_NCCL_CE_COLL = 1 << 12, /* from version 6 */
};

/* The facts that NCCL reports when an event starts. The texts belong to NCCL. */
struct sl_nccl_descriptor {
    union {
        uint8_t type_v4;
        uint64_t type;
    };
    void *parent; /* the handle that we gave to the event around this event */
    int32_t rank; /* 0 in API and launch events, so the rank of `init` is used */
    int32_t pad;
    union {
        struct { /* a call of a collective */
            const char *func;
            uint64_t count;
            const char *dtype;
            int32_t root, pad;
            const void *stream;
            uint8_t graph_captured; /* 1: into a graph */
            uint64_t tag;           /* from version 7: the user's tag */
        } coll_api;
        struct { /* a call of ncclSend or ncclRecv */
            const char *func;
            uint64_t count;
            const char *dtype;
            const void *stream;
            uint8_t graph_captured;
            uint64_t tag; /* from version 7 */
        } p2p_api;
        struct { /* a collective in a launched kernel */
            uint64_t number;
            const char *func;
            const void *send, *receive;
            uint64_t count; /* bytes for AllGather and Broadcast */
            int32_t root, pad;
            const char *dtype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct { /* a collective by copy engines */
            uint64_t number;
            const char *func;
            const void *send, *receive;
            uint64_t count;
            int32_t root, pad;
            const char *dtype;
        } ce_coll;
        struct { /* a message in a launched kernel */
            const char *func;
            const void *buffer;
            const char *dtype;
            uint64_t count;
            int32_t peer;
            uint8_t channels;
        } p2p;
        struct { /* a channel of a kernel */
            uint8_t channel;
            uint64_t timer; /* the GPU's global timer */
        } kernel_ch;
        struct { /* messages to or from a peer over the network, for a collective */
            int32_t pid;
            uint8_t channel;
            int32_t peer, steps, chunk_bytes, is_send;
        } proxy_op;
    };
};

#define SL_NCCL_AT(member, place)                                                                  \
    _Static_assert(offsetof(struct sl_nccl_descriptor, member) == (place), #member)
SL_NCCL_AT(parent, 8);
SL_NCCL_AT(rank, 16);
SL_NCCL_AT(coll_api.func, 24);
SL_NCCL_AT(coll_api.count, 32);
SL_NCCL_AT(coll_api.dtype, 40);
SL_NCCL_AT(coll_api.root, 48);
SL_NCCL_AT(coll_api.graph_captured, 64);
SL_NCCL_AT(coll_api.tag, 72);
SL_NCCL_AT(p2p_api.func, 24);
SL_NCCL_AT(p2p_api.count, 32);
SL_NCCL_AT(p2p_api.dtype, 40);
SL_NCCL_AT(p2p_api.graph_captured, 56);
SL_NCCL_AT(p2p_api.tag, 64);
SL_NCCL_AT(coll.number, 24);
SL_NCCL_AT(coll.func, 32);
SL_NCCL_AT(coll.count, 56);
SL_NCCL_AT(coll.root, 64);
SL_NCCL_AT(coll.dtype, 72);
SL_NCCL_AT(coll.channels, 80);
SL_NCCL_AT(coll.algorithm, 88);
SL_NCCL_AT(coll.protocol, 96);
SL_NCCL_AT(ce_coll.number, 24);
SL_NCCL_AT(ce_coll.func, 32);
SL_NCCL_AT(ce_coll.count, 56);
SL_NCCL_AT(ce_coll.root, 64);
SL_NCCL_AT(ce_coll.dtype, 72);
SL_NCCL_AT(p2p.func, 24);
SL_NCCL_AT(p2p.dtype, 40);
SL_NCCL_AT(p2p.count, 48);
SL_NCCL_AT(p2p.peer, 56);
SL_NCCL_AT(p2p.channels, 60);
SL_NCCL_AT(kernel_ch.timer, 32);
SL_NCCL_AT(proxy_op.channel, 28);
SL_NCCL_AT(proxy_op.peer, 32);
SL_NCCL_AT(proxy_op.steps, 36);
SL_NCCL_AT(proxy_op.chunk_bytes, 40);
SL_NCCL_AT(proxy_op.is_send, 44);
#undef SL_NCCL_AT

/* NCCL calls `init` and `finalize` once for each communicator. A result other than 0 of `init`
 * makes NCCL go on without the plugin. */
typedef int (*sl_nccl_init_v4)(void **context, int *mask, const char *name, uint64_t hash,
                               int nodes, int ranks, int rank, void *log);
typedef int (*sl_nccl_init_v5)(void **context, uint64_t hash, int *mask, const char *name,
                               int nodes, int ranks, int rank, void *log);

/* The data symbol ncclProfiler_vN. Copies of NCCL that were changed by others know versions with
 * more functions, and read beyond this table. They find NULL there. */
struct sl_nccl_plugin {
    const char *name;
    union {
        sl_nccl_init_v4 init_v4;
        sl_nccl_init_v5 init_v5;
    };
    int (*start)(void *context, void **handle, const struct sl_nccl_descriptor *descriptor);
    int (*stop)(void *handle);
    int (*record_state)(void *handle, int state, void *args);
    int (*finalize)(void *context);
    void *beyond[4];
};

#endif
