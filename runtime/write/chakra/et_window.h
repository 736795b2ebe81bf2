/*
 * et_window.h - the Chakra file of each window: WINDOW.RANK.et beside the Kineto file.
 *
 * Opened and closed with the window, but on its own otherwise: what goes wrong with one of the two
 * files does not touch the other. Complete nodes reach the disk at least once a second, so that a
 * killed process leaves a .part of whole messages.
 *
 * A job whose collectives run on groups of its ranks has WINDOW.comm_groups.json beside them, with
 * the groups that this rank knows of.
 *
 * Threads: one owner, the writer thread. Memory: the writer's of Chakra traces, `cap_bytes`, and
 * what collectives take (et_comms.h).
 */
#ifndef SL_CHAKRA_ET_WINDOW_H
#define SL_CHAKRA_ET_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "write/chakra/chakra.h"

struct sl_et_window;

struct sl_et_window_options {
    struct sl_chakra_options chakra; /* but for `collective` */
    enum sl_compression compression;
    const struct sl_intern *details; /* of operators (event/op_detail.h); NULL: there are none */
    uint32_t world_size;             /* ranks of the job; 0: not known */
    const char *folder;              /* <output>/<job>/<host>-<rank>-<pid>; borrowed */
};

/* 0, -ENOMEM, or -EINVAL: chakra.cap_bytes is too small. */
int sl_et_window_create(struct sl_et_window **out, const struct sl_et_window_options *opt);
void sl_et_window_destroy(struct sl_et_window *e); /* NULL is fine; no file may be open */

/* The window's other file failed so, which was said: the same of this one goes without saying. 0: a
 * new window, nothing has failed. */
void sl_et_window_excuse(struct sl_et_window *e, int error);

/* A file that cannot be made is said once. What `meta` points to is borrowed until the close. */
void sl_et_window_open(struct sl_et_window *e, const struct sl_trace_meta *meta);
int sl_et_window_is_open(const struct sl_et_window *e);

/* As sl_chakra_events() and so on; a file that fails is said once, and left as .part. Without an
 * open one they do nothing. */
void sl_et_window_events(struct sl_et_window *e, const struct sl_event *ev, size_t count);
void sl_et_window_edges(struct sl_et_window *e, const struct sl_edge *edge, size_t count);
void sl_et_window_complete(struct sl_et_window *e, uint64_t complete_ns);

/* Says what failed, and syncs what was written, a second ago. Returns in how many ns something will
 * be. */
uint64_t sl_et_window_sync(struct sl_et_window *e);

/* Completes the file, or does nothing without one. */
void sl_et_window_close(struct sl_et_window *e);
/* After the window's other file was closed: what failed is said now at the latest. */
void sl_et_window_end(struct sl_et_window *e);

#endif
