/*
 * named.h - an object of CUDA, or a thread, that the program gave a name.
 */
#ifndef SL_NAMED_H
#define SL_NAMED_H

#include <stdint.h>

enum sl_named_object {
    SL_NAMED_CATEGORY, /* domain, key: the category */
    SL_NAMED_THREAD,   /* key: system id */
    SL_NAMED_DEVICE,   /* key: device */
    SL_NAMED_CONTEXT,  /* key: CUPTI's id; within: device */
    SL_NAMED_STREAM,   /* key: CUPTI's id; within: context */
    SL_NAMED_EVENT,    /* key: CUDA's handle; CUPTI does not give the id */
    SL_NAMED_OTHER,    /* has no track; kept for its handle only */
};

struct sl_named {
    uint32_t what; /* enum sl_named_object */
    uint32_t domain;
    uint64_t key;
    uint32_t within;
    uint32_t string; /* in base/text_table.h */
};

#endif
