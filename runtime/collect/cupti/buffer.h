/*
 * buffer.h - the pool of CUPTI buffers, which lends buffers to CUPTI and takes them back.
 *
 * CUPTI requests a buffer on an application thread, and returns the full buffer on any thread. Both
 * callbacks take no lock, allocate nothing, and take less than a microsecond. The recorder thread
 * maps buffers beforehand and keeps a few ready in a lock-free free list. Completed buffers go onto
 * a lock-free list, which the recorder thread takes as a whole.
 *
 * When the pool is at its cap, a request gets a *discard buffer* and the loss is counted. The
 * discard buffer is one small shared block. CUPTI may write to this block from several threads at
 * once, which is harmless because nobody reads the block. Returning NULL instead can crash CUPTI
 * below API 27.
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
    size_t valid;  /* number of bytes that hold records */
    void *context; /* the context that CUPTI passed, or sl_cupti_fields_mark() */
    uint32_t stream;
    struct sl_cupti_buffer *next;
};

/* Creates the process's only pool (CUPTI callbacks carry no user pointer) and maps its first
 * `ready` buffers. `buffer_bytes` is the size of a buffer, `cap_bytes` the limit for all buffers
 * together. The pool calls `wake` when the recorder thread should run before its tick, because more
 * than a quarter of the pool is full, or because no buffer was ready for a request. `wake` must be
 * async-signal-safe (a futex wake) and is called on any thread. Returns 0, -ENOMEM, -EALREADY, or
 * -EINVAL if the cap is below one buffer. */
int sl_cupti_pool_init(size_t buffer_bytes, size_t cap_bytes, unsigned ready, void (*wake)(void));

/* Recorder thread only. Sets the pool's cap, but never above the cap given at creation. The memory
 * of buffers above the cap is returned to the system, at once or when CUPTI returns the buffer. */
void sl_cupti_pool_limit(size_t bytes);

/* Any thread. Returns 1 if the cap is below the one given at creation. */
int sl_cupti_pool_is_limited(void);

/* The two callbacks to register. `request` also calls `on_first_use` once (see below). */
void sl_cupti_pool_request(uint8_t **buffer, size_t *size, size_t *max_records);
void sl_cupti_pool_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size);

/* The pool calls `stranger`, on a CUPTI thread, with each completed buffer that is not ours.
 * `stranger` returns 0 if it has passed the buffer to the buffer's owner. Otherwise the pool counts
 * the buffer. Call this function before the callbacks are registered, or never. */
void sl_cupti_pool_set_stranger(int (*stranger)(void *context, uint32_t stream, uint8_t *buffer,
                                                size_t size, size_t valid_size));

/* Any thread. Returns whether the address belongs to one of our buffers, or to the discard
 * buffer. */
int sl_cupti_pool_owns(const uint8_t *buffer);

/* `on_first_use` is called once, inside the first request for a buffer, which shows that the
 * process uses CUDA. Call this function before registering the callbacks. */
void sl_cupti_pool_set_first_use(void (*on_first_use)(void));

/* Recorder thread only. Takes all completed buffers. Returns the oldest, which is linked to the
 * others by `next`. Returns NULL if no buffer is completed. */
struct sl_cupti_buffer *sl_cupti_pool_take(void);

/* Recorder thread only. Zeroes the buffer, because CUPTI expects zeroed buffers, and puts it back
 * on the ready list. */
void sl_cupti_pool_recycle(struct sl_cupti_buffer *buffer);

/* Recorder thread only. If few buffers are ready, maps more, up to the cap. If a request has found
 * no ready buffer since the last call, doubles the number of buffers that are kept ready. */
void sl_cupti_pool_refill(void);

/* Any thread. sl_cupti_pool_outstanding() returns how many buffers CUPTI holds now, discard buffers
 * included. sl_cupti_pool_mapped_bytes() returns how many bytes are mapped. If CUPTI returned a
 * buffer of ours to another tool's callback, the buffer counts as held for good. */
unsigned sl_cupti_pool_outstanding(void);
size_t sl_cupti_pool_mapped_bytes(void);

/* Any thread. Returns whether CUPTI holds a discard buffer. */
int sl_cupti_pool_is_discarding(void);

/* Any thread. sl_cupti_pool_turn() returns the number of the last request. sl_cupti_pool_missing()
 * returns how many buffers that were requested up to number `turn` are missing. A buffer is missing
 * until the recorder thread has taken it. */
uint64_t sl_cupti_pool_turn(void);
unsigned sl_cupti_pool_missing(uint64_t turn);
/* sl_cupti_pool_lent() returns how many of the missing buffers CUPTI still holds.
 * sl_cupti_pool_all_back() returns whether no buffer is missing. */
unsigned sl_cupti_pool_lent(uint64_t turn);
int sl_cupti_pool_all_back(uint64_t turn);

/* Any thread. Calls `look` for each missing buffer, while CUPTI may be writing to the buffer. */
void sl_cupti_pool_look(uint64_t turn, void (*look)(void *user, const uint8_t *data, size_t size),
                        void *user);

/* Call in the child after a fork. Later requests get the discard buffer, and completions are
 * ignored. */
void sl_cupti_pool_set_passive(void);

/* Unit tests only: returns to the state before init (no callback may be running). */
void sl_cupti_pool_reset(void);

#endif
