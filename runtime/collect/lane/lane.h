/*
 * lane.h - the queue of records from an application thread to the recorder thread.
 *
 * A thread writes to its lane, in the order of its calls, everything that is reported on that
 * thread: NVTX ranges and names, PyTorch operators, steps, source lines.
 *
 * A lane is a ring of records with one writer, the thread that uses the lane, and one reader, the
 * recorder thread. A thread takes a lane at its first record and returns it when the thread ends,
 * even with unread records. The next thread that takes the lane appends to the same ring. So the
 * number of lanes is the largest number of threads that recorded at the same time, not the number
 * of all threads.
 *
 * A lane stays small as long as the recorder thread reads it in time. If the writer gets far ahead
 * of the recorder thread, the lane grows. All lanes share one memory limit.
 *
 * The push of a range reserves the room for the record of its pop. So a full lane drops whole
 * ranges, and the nesting of the other ranges stays correct.
 *
 * Threads: any thread, for its own lane. Nothing blocks or allocates. Memory: mapped at init,
 * touched as lanes are used, and never unmapped, because a thread may be writing at any time.
 */
#ifndef SL_LANE_H
#define SL_LANE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text_table.h"
#include "collect/python/code_cache.h"

enum {
    SL_LANE_WORDS = 8192,                /* first size of a lane, in words of 8 bytes: 64 KiB */
    SL_LANE_WORDS_MAX = 1024 * 1024 / 8, /* largest size of a lane, in words */
    SL_LANE_DOMAINS = 1024, /* number of domains; each domain takes 8 bytes of address space in each
                             * lane, of which few are touched */
    /* Longest texts, in bytes; longer texts are truncated. A record has room for one text of each
     * kind. */
    SL_LANE_TEXT_MAX = SL_TEXT_MAX,
    SL_LANE_JSON_MAX = 2559,
    SL_LANE_RECORD_WORDS = 510,
    SL_LANE_TOLD = 256,  /* maximum number of nested operators that are reported as NVTX
                          * texts */
    SL_LANE_OPS = 512,   /* maximum number of open operators; real programs nest fewer operators */
    SL_LANE_STARTS = 64, /* maximum number of open operators that may end on any thread and for
                          * whose ends room is reserved */
    SL_LANE_FINISH_WORDS = 8, /* words for a finish record, padding at the ring's end, and a pop */
};

enum sl_lane_what {
    SL_LANE_PAD,  /* padding up to the end of the ring */
    SL_LANE_GROW, /* the ring is twice as long for the following records; aux: offset of the next
                   * record */
    SL_LANE_PUSH,
    SL_LANE_POP,
    SL_LANE_START,
    SL_LANE_END,
    SL_LANE_MARK,
    SL_LANE_THREAD_BEGIN, /* the following records are from another thread; aux: the thread's system
                           * id */
    SL_LANE_THREAD_END,   /* closes all ranges that the thread has pushed and not popped */
    SL_LANE_ACQUIRE,      /* the thread waits for a lock of the program; aux: the lock's number
                           * (nvtx/names.h) */
    SL_LANE_ACQUIRED,     /* the wait succeeded */
    SL_LANE_NOT_ACQUIRED, /* the wait failed */
    SL_LANE_RELEASE,      /* the lock was released */
    SL_LANE_PAST,         /* an event in the past, whose record contains its start and end */
    SL_LANE_STEP,         /* a step of the job, whose record contains its start and end */
    SL_LANE_OP_BEGIN,     /* struct sl_lane_op */
    SL_LANE_OP_END,       /* ends an operator; aux: lower half of the operator's handle */
    SL_LANE_OP_START,     /* struct sl_lane_op of an operator that may end on any thread, by
                           * SL_LANE_OP_FINISH */
    SL_LANE_OP_FINISH,    /* ends an operator that may have begun in another lane, or more than
                           * SL_LANE_OPS operators ago; aux and one word: the operator's handle */
    SL_LANE_OP_NODE,      /* the innermost operator created a CUDA graph node; one word: the node's
                           * id */
    SL_LANE_NCCL,         /* an event of NCCL (collect/nccl/plugin.h) */
};

/* Parts after a record's header, in this order. */
enum sl_lane_part {
    SL_LANE_HAS_STRING = 1 << 0,   /* no words: `aux` is the number of a registered string */
    SL_LANE_HAS_CATEGORY = 1 << 1, /* low half of a word: the category */
    SL_LANE_HAS_COLOR = 1 << 2,    /* high half of the same word: the color as ARGB */
    SL_LANE_HAS_VALUE = 1 << 3,    /* one word: type of the value (enum sl_note_value); one word:
                                    * the value's bits */
    SL_LANE_HAS_ID = 1 << 4,       /* one word: id of a range that is ended by its id */
    SL_LANE_HAS_TEXT = 1 << 5,     /* one word: length of the text; then the text's bytes, mostly
                                    * UTF-8 */
    SL_LANE_HAS_JSON = 1 << 6,     /* one word: length of the text; then the text, which is members
                                    * of a JSON object */
    SL_LANE_HAS_TIMES = 1 << 7,    /* two words before all other parts: start and end, ns */
};

struct sl_lane_record {
    uint16_t what : 6;    /* enum sl_lane_what */
    uint16_t domain : 10; /* number of the NVTX domain, below SL_LANE_DOMAINS */
    uint8_t parts;        /* enum sl_lane_part */
    uint8_t pairs;        /* length in pairs of words, including this one */
    uint32_t aux;
    uint64_t stamp; /* time of the record, from sl_clock_stamp() */
};

_Static_assert(sizeof(struct sl_lane_record) == 16, "the most frequent record has two words");
_Static_assert(SL_LANE_DOMAINS == 1 << 10, "a record has 10 bits for the domain");

/* Beginning of a PyTorch operator. This struct is followed, without padding, by the operator's
 * name, further JSON members for the args of the operator's slice, and the operator's inputs
 * (event/op_inputs_format.h). */
struct sl_lane_op {
    struct sl_lane_record record; /* aux: number of the Python line, from sl_python_line(); 0: no
                                   * line */
    uint64_t handle;
    int64_t sequence;                /* sequence number; -1: none */
    uint32_t thread, forward_thread; /* PyTorch's numbers of the threads; 0: none */
    uint32_t caller;                 /* system id of the thread that called the backward pass; 0:
                                      * none */
    uint16_t name_length, more_length, inputs_length;
    uint8_t scope;
    uint8_t was_cut;  /* 1: inputs were truncated */
    uint8_t function; /* of a collective: number of the function of torch.distributed
                       * (collect/torch/functions.h); 0: none */
};

/* An open operator that was reported by an NVTX text (collect/torch/nvtx_fallback.h). */
struct sl_lane_told {
    uint32_t handle; /* lower half of the operator's handle; 0: not recorded */
    int depth;       /* number of ranges of the default domain around this operator that are not
                      * operators */
    uint8_t is_user, is_evaluation;
};

/* An open operator that has a record. */
struct sl_lane_open {
    uint32_t handle; /* lower half of the operator's handle */
    int is_plain;    /* the operator ends on the thread where it began, so Python calls until its
                      * end are inside it */
};

struct sl_lane {
    /* Fields of the writer. */
    uint64_t at;           /* position after the last record; the reader sees it as `head` */
    uint64_t offset;       /* the position `at` within the ring */
    uint64_t words;        /* the ring's length */
    uint64_t limit;        /* position that only pops may pass until `tail` is read again */
    uint32_t reserved;     /* words reserved for the pops of open ranges and for the thread's end */
    int ops, ops_skipped;  /* number of open operators with a record; number of open operators
                            * inside these without a record */
    int ops_plain;         /* number of open operators (`ops`) that are plain */
    const void *ops_frame; /* Python's frame when the outermost plain operator began */
    uint64_t left, wall;   /* no record may pass position `wall` until the reader reaches `left`
                            * (grow() in lane.c) */
    uint32_t thread;       /* system id of the thread */
    int announced;         /* 1: THREAD_BEGIN was written */
    int depth[SL_LANE_DOMAINS];   /* number of pushed ranges with a record */
    int skipped[SL_LANE_DOMAINS]; /* number of ranges inside the ranges of `depth` that were dropped
                                   * because the lane was full */
    uint32_t told, told_number;   /* number of open operators reported by NVTX texts; the thread's
                                   * number in nvtx_fallback.c */
    struct sl_lane_told told_op[SL_LANE_TOLD];
    struct sl_lane_open op_open[SL_LANE_OPS]; /* `ops` entries, the outermost first */
    unsigned starts;                          /* number of open operators for whose ends room is
                                               * reserved */
    struct sl_python_code_cache seen;

    /* Fields that writer and reader share. */
    alignas(64) _Atomic uint64_t head;
    uint64_t *word; /* these fields are not on the cache line that the reader keeps changing */
    alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t lost;      /* number of records dropped because the lane was full */
    _Atomic uint32_t next_free; /* index + 1 of the next free lane; valid while no thread holds this
                                 * lane */

    /* Fields of the reader. */
    uint64_t read_offset, read_words;
    uint32_t reading_thread;
    int is_broken; /* 1: a record was damaged, so no more records are read */
    uint64_t last_ns;
};

/* `bytes` is the memory limit for all lanes. Returns 0, -ENOMEM or -EALREADY. */
int sl_lanes_init(size_t bytes);

/* `wake` is called, on any thread, when a lane fills up, and when a step of the job begins for
 * which the recorder thread waits. `wake` must not block. */
void sl_lanes_set_wake(void (*wake)(void));
void sl_lanes_wake(void);

/* Returns the calling thread's lane. A thread's first call takes a free lane. Returns NULL and
 * counts the loss if no lane is free, or if the ending thread has returned its lane. */
struct sl_lane *sl_lane_take(void);

extern _Thread_local struct sl_lane *sl_lane_mine;

static inline struct sl_lane *sl_lane_get(void)
{
    struct sl_lane *lane = sl_lane_mine;

    return __builtin_expect(lane != NULL, 1) ? lane : sl_lane_take();
}

/* Slow path of sl_lane_begin(), which checks how far the reader has read and may enlarge the lane.
 * Returns NULL and counts the loss if there is no room. */
struct sl_lane_record *sl_lane_room(struct sl_lane *lane, unsigned words);

/* Returns room for a record of `words`, an even number up to SL_LANE_RECORD_WORDS. Returns NULL and
 * counts the loss if there is no room. The reader sees the record after sl_lane_put(). */
static inline struct sl_lane_record *sl_lane_begin(struct sl_lane *lane, unsigned words)
{
    /* Checks for two words more than the record, because a push also reserves room for its pop. The
     * slow path also runs at the ring's end, where the ring may grow. */
    if (__builtin_expect(lane->at + words + 2 > lane->limit || lane->offset + words >= lane->words,
                         0))
        return sl_lane_room(lane, words);
    return (struct sl_lane_record *)&lane->word[lane->offset];
}

/* Records a past event by its name and its times (CLOCK_REALTIME ns). If there is no room, the
 * event is dropped and counted. */
void sl_lane_put_past(enum sl_lane_what what, const char *name, size_t length, uint64_t start_ns,
                      uint64_t end_ns);

/* Returns room for a record of two words. The room was reserved before. */
static inline struct sl_lane_record *sl_lane_reserved(const struct sl_lane *lane)
{
    return (struct sl_lane_record *)&lane->word[lane->offset];
}

static inline void sl_lane_put(struct sl_lane *lane, unsigned words)
{
    lane->at += words;
    lane->offset += words;
    if (lane->offset == lane->words)
        lane->offset = 0;
    /* Release pairs with the acquire in the reader, which sees the whole record once it sees
     * `head`. */
    atomic_store_explicit(&lane->head, lane->at, memory_order_release);
}

/* Call when a push was recorded. Reserves room for its pop. Returns the range's level, 0 for the
 * outermost. */
static inline int sl_lane_pushed(struct sl_lane *lane, unsigned domain)
{
    lane->reserved += 2;
    lane->limit -= 2;
    return lane->depth[domain]++;
}

static inline int sl_lane_popped(struct sl_lane *lane, unsigned domain)
{
    lane->reserved -= 2;
    lane->limit += 2;
    return --lane->depth[domain];
}

/* Call when the push of a range was not recorded. Then the range's pop and the ranges inside it are
 * not recorded either. Returns the range's level. */
int sl_lane_skip(struct sl_lane *lane, unsigned domain);

/* Returns the position of an open operator in `op_open`, counted from 1; 0 if the operator has no
 * record in this lane. */
static inline int sl_lane_op_find(const struct sl_lane *lane, uint32_t handle)
{
    int place = lane->ops;

    while (place && lane->op_open[place - 1].handle != handle)
        place--;
    return place;
}

/* Removes the operator at position `place` of `op_open`, and frees the room that was reserved for
 * the operator's end. The caller writes the record of the end into this room. */
static inline void sl_lane_op_ended(struct sl_lane *lane, int place)
{
    lane->reserved -= 2;
    lane->limit += 2;
    lane->ops--;
    lane->ops_plain -= lane->op_open[place - 1].is_plain;
    for (int i = place - 1; i < lane->ops; i++)
        lane->op_open[i] = lane->op_open[i + 1];
}

/* Adds an open operator and reserves room for its end. If too many operators are open, removes the
 * outermost, which may have ended on another thread. */
static inline void sl_lane_op_begun(struct sl_lane *lane, uint32_t handle, int is_plain)
{
    if (__builtin_expect(lane->ops == SL_LANE_OPS, 0))
        sl_lane_op_ended(lane, 1);
    lane->reserved += 2;
    lane->limit -= 2;
    lane->op_open[lane->ops++] = (struct sl_lane_open){handle, is_plain};
    lane->ops_plain += is_plain;
}

void sl_lane_op_skip(struct sl_lane *lane);

/* Call when an operator was recorded that may end on any thread. Reserves room for its end, in case
 * it ends on this thread. */
static inline void sl_lane_op_started(struct sl_lane *lane)
{
    if (lane->starts == SL_LANE_STARTS)
        return;
    lane->starts++;
    lane->reserved += SL_LANE_FINISH_WORDS;
    lane->limit -= SL_LANE_FINISH_WORDS;
}

/* Call when an operator for which sl_lane_op_started() was called ends on this thread. Frees the
 * reserved room. */
static inline void sl_lane_op_finished(struct sl_lane *lane)
{
    if (!lane->starts)
        return;
    lane->starts--;
    lane->reserved -= SL_LANE_FINISH_WORDS;
    lane->limit += SL_LANE_FINISH_WORDS;
}

/* Counts records as lost that a source did not try to write. */
void sl_lanes_lose(uint64_t records);

/* The functions below are for the recorder thread, which reads the lanes. */
unsigned sl_lanes_used(void); /* returns the number of lanes used so far, which are lanes 0 .. n -
                               * 1 */
struct sl_lane *sl_lane_at(unsigned index);
/* Returns the next unread record, which is valid until sl_lane_read(). Returns NULL if all records
 * are read. */
const struct sl_lane_record *sl_lane_next(struct sl_lane *lane);
void sl_lane_read(struct sl_lane *lane, const struct sl_lane_record *record);
uint64_t sl_lanes_lost(void); /* returns the number of lost records of all lanes */
uint64_t sl_lanes_bytes(void);
/* Writes the clock reading that sl_lanes_init() took. Few records are older than this reading.
 * Returns 0 or -EAGAIN. */
int sl_lanes_point(uint64_t *stamp, uint64_t *ns);

#endif
