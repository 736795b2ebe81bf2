/*
 * named.h - an object of CUDA, or a thread, that the program gave a name.
 */
#ifndef SL_NAMED_H
#define SL_NAMED_H

#include <stdint.h>

enum sl_named_object {
    SL_NAMED_CATEGORY, /* category of an NVTX domain; `key` is the category's number */
    SL_NAMED_THREAD,   /* `key` is the thread's system id */
    SL_NAMED_DEVICE,   /* `key` is the number of the device */
    SL_NAMED_CONTEXT,  /* `key` is CUPTI's id of the context; `within` is the device */
    SL_NAMED_STREAM,   /* `key` is CUPTI's id of the stream; `within` is the context */
    SL_NAMED_EVENT,    /* `key` is CUDA's handle, because CUPTI does not give the id */
    SL_NAMED_OTHER,    /* an object without a track; `key` is its handle */
};

struct sl_named {
    uint32_t what; /* enum sl_named_object */
    uint32_t domain;
    uint64_t key;
    uint32_t within;
    uint32_t string; /* number of the name in base/text_table.h */
};

#endif
