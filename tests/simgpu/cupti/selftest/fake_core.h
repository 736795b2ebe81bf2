/*
 * fake_core.h - a core for the self test that does what the test says: operations end when told,
 * handles are their ids, the log is kept in memory.
 */
#ifndef FAKE_CORE_H
#define FAKE_CORE_H

#include "core/probe.h"

extern const struct sim_probe *fake_probe; /* what libcupti registered */
extern bool fake_replaying;                /* the process plays a recording */

/* A kernel, enqueued under the next correlation id. The caller's reference is the only one. */
struct sim_op *fake_kernel(const char *name);
struct sim_op *fake_copy(int peer);
struct sim_op *fake_memset(void);
uint64_t fake_new_correlation(void);
/* Sets times and `done`, tells the probe. */
void fake_finish(struct sim_op *op);
/* One runtime call: a cbid, with the correlation given. */
void fake_call(enum sim_domain domain, uint32_t cbid, uint32_t correlation, int result);

long fake_ops_alive(void);

/* How many lines of the log contain `text`. */
int fake_log_count(const char *text);
/* Every call of this function fails with `code`; NULL: none. */
void fake_fail(const char *function, int code);

#endif
