/*
 * fake_core.h - a core that the self-test controls. An operation ends when the test says so,
 * handles are numbers equal to the CUPTI ids, and the log stays in memory.
 */
#ifndef FAKE_CORE_H
#define FAKE_CORE_H

#include "core/probe.h"

extern const struct sim_probe *fake_probe; /* the probe that libcupti registered */
extern bool fake_replaying;                /* the process replays a recording */

/* Enqueues a kernel under the next correlation id. The caller holds the only reference to the
 * operation. */
struct sim_op *fake_kernel(const char *name);
struct sim_op *fake_copy(int peer);
struct sim_op *fake_memset(void);
uint64_t fake_new_correlation(void);
/* Ends the operation: sets its times and `done`, and notifies the probe. */
void fake_finish(struct sim_op *op);
/* Reports one API call with the given cbid and correlation id. */
void fake_call(enum sim_domain domain, uint32_t cbid, uint32_t correlation, int result);

long fake_ops_alive(void);

/* Returns the number of log lines that contain `text`. */
int fake_log_count(const char *text);
/* Makes every call of `function` fail with `code`. If `function` is NULL, no call fails. */
void fake_fail(const char *function, int code);

#endif
