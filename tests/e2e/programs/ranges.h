/*
 * ranges.h - functions that the files of the program `ranges` share. Most of them run one step;
 * ranges.c describes the steps.
 *
 * Any thread runs steps; `domain` is the calling thread's domain. The functions do not keep
 * pointers to their arguments' texts.
 */
#ifndef SL_TEST_RANGES_H
#define SL_TEST_RANGES_H

#include <nvtx3/nvToolsExtPayload.h>

/* ranges.c */
void ranges_run(char **step, int steps); /* this function changes the texts of the steps */
void ranges_sleep_ms(long ms);

/* In ranges_cuda.c: ranges_context() must be called first. A thread's first kernel creates the
 * thread's stream. */
void ranges_context(void);
void ranges_kernels(long n);
void ranges_sync(void);
void ranges_name_stream(const char *name);
void ranges_name_stream_rt(const char *name); /* uses NVTX's functions for the runtime */

/* ranges_events.c */
nvtxEventAttributes_t ranges_event(const char *name); /* sets only the name */
void ranges_push(nvtxDomainHandle_t domain, const char *name);
void ranges_push_wide(const char *name);
void ranges_push_string(nvtxDomainHandle_t domain, const char *name);
void ranges_push_full(nvtxDomainHandle_t domain, const char *name);
void ranges_push_many(long n); /* pushes and pops */
void ranges_mark_payload(nvtxDomainHandle_t domain, const char *type);

/* In ranges_schema.c: registers a schema with these entries and returns the schema's id; makes a
 * range with payloads of these schemas. */
uint64_t ranges_schema(nvtxDomainHandle_t in, const nvtxPayloadSchemaEntry_t *entry, size_t count,
                       uint64_t type, size_t size);
void ranges_by_schema(nvtxDomainHandle_t domain);

/* In ranges_deferred.c: reports an event "over" of some milliseconds after the event has ended,
 * with timestamps of the given clock ("" is NVTX's clock). Prints "deferred NS FROM TO". NS is the
 * event's duration by that clock if the clock counts ns. FROM and TO are the wall clock's ns before
 * and after the event. */
void ranges_deferred(nvtxDomainHandle_t domain, const char *clock);

/* ranges_locks.c */
void ranges_lock(nvtxDomainHandle_t domain, const char *name);
/* Acquires a lock and keeps it. Only one lock is kept at a time. */
void ranges_hold(nvtxDomainHandle_t domain, const char *name);
void ranges_destroy_held(void); /* may be called by any thread */

/* In ranges_threads.c: a worker prints "worker TID". The child prints "child LEVEL" with the level
 * that NVTX returned. */
void ranges_worker(const char *steps);
void ranges_churn(long n);
void ranges_thread_that_stays(void);
void ranges_loading(int ms);
void ranges_fork(void);

#endif
