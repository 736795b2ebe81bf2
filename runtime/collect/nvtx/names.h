/*
 * names.h - the domains and names that programs register with NVTX. base/text_table.h holds the
 * texts.
 *
 * The handles that the application gets are indexes into these tables. Nothing is ever removed,
 * because an application may keep a handle for the life of the process. A text that is registered
 * again gets the same number.
 *
 * Threads: any thread adds and reads; nothing blocks. Memory: fixed tables, whose pages are touched
 * only as they fill. If a table is full, a new name is dropped and counted as SL_STAT_NAMES_LOST.
 */
#ifndef SL_NVTX_NAMES_H
#define SL_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0, -ENOMEM or -EALREADY. */
int sl_nvtx_names_init(void);

/* Returns a domain's number, counted from 1. If the table is full, all further domains share the
 * last number. 0 is the default domain, which has no name. */
unsigned sl_nvtx_domain(const char *name, size_t length);
uint32_t sl_nvtx_domain_name(unsigned domain); /* string; 0: none */

enum sl_nvtx_named {
    SL_NVTX_CATEGORY, /* domain, key: the category */
    SL_NVTX_THREAD,   /* key: system id */
    SL_NVTX_DEVICE,   /* key: device */
    SL_NVTX_CONTEXT,  /* key: CUPTI's id, device */
    SL_NVTX_STREAM,   /* key: CUPTI's id, context */
    SL_NVTX_EVENT,    /* key: CUDA's handle; CUPTI does not give the id */
    SL_NVTX_OTHER,    /* other objects: they have no track, only their handle is needed */
};

struct sl_nvtx_name {
    uint32_t what; /* enum sl_nvtx_named */
    uint32_t domain;
    uint64_t key;
    uint32_t within; /* device of a context, context of a stream */
    uint32_t string;
};

/* Returns the name's number, counted from 1, or 0 if the table is full. */
uint32_t sl_nvtx_name(const struct sl_nvtx_name *name);

/* Returns 0, or -ENOENT if no name has that number yet. */
int sl_nvtx_name_get(uint32_t number, struct sl_nvtx_name *out);

#endif
