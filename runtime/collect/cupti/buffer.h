/*
 * buffer.h - the pool of activity buffers and their way back.
 *
 * CUPTI asks for a buffer on an application thread and gives it back full on some thread. Both
 * callbacks are lock-free, allocation-free and shorter than a microsecond: buffers are mapped
 * beforehand (by the collector thread, which keeps a few ready), handed out from a lock-free free
 * list, and returned on a lock-free list that the collector takes whole.
 *
 * When the pool is at its cap the request gets a *discard buffer* (one shared, small, never read
 * block: CUPTI may write to it from several threads at once, which is harmless because nobody
 * reads it), and the loss is counted: a NULL buffer can crash CUPTI below API 27.
 *
 * Buffers that CUPTI holds are never freed, not even at exit.
 */
#ifndef SL_CUPTI_BUFFER_H
#define SL_CUPTI_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct sl_cupti_buffer {
    uint8_t *data;
    size_t size;
    size_t valid;  /* bytes of records */
    void *context; /* as CUPTI gave it, or sl_cupti_fields_mark() */
    uint32_t stream;
    struct sl_cupti_buffer *next;
};

/* One pool per process (CUPTI's callbacks carry no user pointer). cap_bytes bounds all buffers
 * together; buffer_bytes each. `wake` is called (any thread; must be async-safe: a futex wake) when
 * the collector should come before its tick: more than a quarter of the pool is full, or a request
 * found nothing ready. 0, -ENOMEM, -EALREADY, -EINVAL (not room for one buffer). Prepares `ready`
 * buffers now. */
int sl_cupti_pool_init(size_t buffer_bytes, size_t cap_bytes, unsigned ready, void (*wake)(void));

/* The two callbacks to register. `request` also calls `on_first_use` once (see below). */
void sl_cupti_pool_request(uint8_t **buffer, size_t *size, size_t *max_records);
void sl_cupti_pool_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size);

/* Asked about each completed buffer that is none of ours, on CUPTI's thread: 0 if it has found the
 * owner; else it is counted. Set before registering the callbacks, or never. */
void sl_cupti_pool_set_stranger(int (*stranger)(void *context, uint32_t stream, uint8_t *buffer,
                                                size_t size, size_t valid_size));

/* Any thread: the address is that of a buffer of ours, or of a discard buffer. */
int sl_cupti_pool_owns(const uint8_t *buffer);

/* Called once, from inside the first request of the process: CUDA is really in use. Set before
 * registering the callbacks. */
void sl_cupti_pool_set_first_use(void (*on_first_use)(void));

/* Collector thread only. Completed buffers, oldest first, linked by `next`; NULL if none. */
struct sl_cupti_buffer *sl_cupti_pool_take(void);

/* Collector thread only. Zeroes what CUPTI wants zeroed and makes the buffer ready again. */
void sl_cupti_pool_recycle(struct sl_cupti_buffer *buffer);

/* Collector thread only. Prepares more buffers, up to the cap, if few are ready; after requests
 * went unserved it keeps more of them ready. */
void sl_cupti_pool_refill(void);

/* Any thread: buffers that CUPTI holds now (discard buffers too), and bytes of all prepared ones. A
 * buffer of ours that CUPTI gave to another tool's callback counts as held for good. */
unsigned sl_cupti_pool_outstanding(void);
size_t sl_cupti_pool_mapped_bytes(void);

/* Any thread: CUPTI is writing to a discard buffer. */
int sl_cupti_pool_is_discarding(void);

/* Any thread: number of the last request. How many of our buffers that were requested up to that
 * number have not come back, and whether all have: one is back when it has been taken. */
uint64_t sl_cupti_pool_turn(void);
unsigned sl_cupti_pool_missing(uint64_t turn);
/* Of these, how many CUPTI still has: nothing that we do changes it. */
unsigned sl_cupti_pool_lent(uint64_t turn);
int sl_cupti_pool_all_back(uint64_t turn);

/* Any thread: shows each buffer that has not come back, while CUPTI may be writing to it. */
void sl_cupti_pool_look(uint64_t turn, void (*look)(void *user, const uint8_t *data, size_t size),
                        void *user);

/* After a fork, in the child: every later request gets the discard buffer, completions are
 * ignored. */
void sl_cupti_pool_set_passive(void);

/* Unit tests only: back to the state before init (no callback may be running). */
void sl_cupti_pool_reset(void);

#endif
