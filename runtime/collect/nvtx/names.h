/*
 * names.h - what NVTX is told once: registered strings, domains, names of things.
 *
 * Handles that are given to the application are numbers into these tables. Nothing is ever taken
 * out: an application keeps its handles for as long as it likes. A text that is told again gets its
 * first number again.
 *
 * Threads: any adds and reads; nothing blocks. Memory: fixed tables, touched as they fill; what has
 * no room is counted as SL_STAT_NAMES_LOST.
 */
#ifndef SL_NVTX_NAMES_H
#define SL_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* 0, -ENOMEM, -EALREADY. */
int sl_nvtx_names_init(void);

/* A text's number, from 1; 0: no room. At most SL_LANE_TEXT_MAX bytes are kept. */
uint32_t sl_nvtx_string(const char *text, size_t length);

/* Its number, if it has one already; else 0. At most SL_LANE_TEXT_MAX bytes. */
uint32_t sl_nvtx_string_known(const char *text, size_t length);

/* Borrowed for the life of the process, ends in NUL; NULL: no such number. */
const char *sl_nvtx_string_get(uint32_t string, size_t *length);

/* A domain's number, from 1; the last one stands for all that have no room. 0 is the default
 * domain, which has no name. */
unsigned sl_nvtx_domain(const char *name, size_t length);
uint32_t sl_nvtx_domain_name(unsigned domain); /* string; 0: none */

enum sl_nvtx_named {
    SL_NVTX_CATEGORY, /* domain, key: the category */
    SL_NVTX_THREAD,   /* key: system id */
    SL_NVTX_DEVICE,   /* key: device */
    SL_NVTX_CONTEXT,  /* key: CUPTI's id, device */
    SL_NVTX_STREAM,   /* key: CUPTI's id, context */
    SL_NVTX_EVENT,    /* key: CUDA's handle, which CUPTI does not tell us the id of */
    SL_NVTX_OTHER,    /* what has no row: kept for its handle alone */
};

struct sl_nvtx_name {
    uint32_t what; /* enum sl_nvtx_named */
    uint32_t domain;
    uint64_t key;
    uint32_t within; /* device of a context, context of a stream */
    uint32_t string;
};

/* Its number, from 1; 0: no room. */
uint32_t sl_nvtx_name(const struct sl_nvtx_name *name);

/* 0; -ENOENT: there is none with that number, so far. */
int sl_nvtx_name_get(uint32_t number, struct sl_nvtx_name *out);

#endif
