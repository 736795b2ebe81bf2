/*
 * ranges.h - what the files of the program `ranges` share: its steps, most of them one function
 * each (ranges.c says what each does).
 *
 * Threads: any runs steps; `domain` is the calling thread's. Texts are borrowed for the call.
 */
#ifndef SL_TEST_RANGES_H
#define SL_TEST_RANGES_H

#include <nvtx3/nvToolsExtPayload.h>

/* ranges.c */
void ranges_run(char **step, int steps); /* writes into them */
void ranges_sleep_ms(long ms);

/* ranges_cuda.c: the context first; a stream comes with its thread's first kernel. */
void ranges_context(void);
void ranges_kernels(long n);
void ranges_sync(void);
void ranges_name_stream(const char *name);
void ranges_name_stream_rt(const char *name); /* by NVTX's functions for the runtime */

/* ranges_events.c */
nvtxEventAttributes_t ranges_event(const char *name); /* `name` is all that it says */
void ranges_push(nvtxDomainHandle_t domain, const char *name);
void ranges_push_wide(const char *name);
void ranges_push_string(nvtxDomainHandle_t domain, const char *name);
void ranges_push_full(nvtxDomainHandle_t domain, const char *name);
void ranges_push_many(long n); /* and pops them */
void ranges_mark_payload(nvtxDomainHandle_t domain, const char *type);

/* ranges_schema.c: a schema of these entries, its id; a range with such payloads. */
uint64_t ranges_schema(nvtxDomainHandle_t in, const nvtxPayloadSchemaEntry_t *entry, size_t count,
                       uint64_t type, size_t size);
void ranges_by_schema(nvtxDomainHandle_t domain);

/* ranges_deferred.c: an event called "over" that lasted some milliseconds, told when it is over by
 * timestamps of that clock; "": of NVTX's. Prints "deferred NS FROM TO": how long by that clock
 * where it counts ns, and between which wall clock times it was, in ns. */
void ranges_deferred(nvtxDomainHandle_t domain, const char *clock);

/* ranges_locks.c */
void ranges_lock(nvtxDomainHandle_t domain, const char *name);
void ranges_hold(nvtxDomainHandle_t domain, const char *name); /* one at a time */
void ranges_destroy_held(void);                                /* on any thread */

/* ranges_threads.c: a worker prints "worker TID", what NVTX says in the child "child LEVEL". */
void ranges_worker(const char *steps);
void ranges_churn(long n);
void ranges_thread_that_stays(void);
void ranges_loading(int ms);
void ranges_fork(void);

#endif
