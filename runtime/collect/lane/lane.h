/*
 * lane.h - what a thread leaves behind until the collector reads it.
 *
 * Everything that is told about a thread in the order of its calls goes this way: NVTX ranges and
 * names, operators of PyTorch, steps, source lines.
 *
 * A lane is a ring of records with one writer, the thread that holds it, and one reader, the
 * collector. A thread takes one at its first record and gives it back at its end, records in it or
 * not: the next thread goes on where it stopped. So there are as many lanes as threads that make
 * ranges at the same time, however many come and go.
 *
 * A lane is small as long as it is read in time: a thread that is ahead of the collector gets more,
 * from a memory that all lanes share.
 *
 * A pop always finds room: a push takes its own with it. So whatever is lost when a lane is full is
 * a whole range, and the nesting of the others stays right.
 *
 * Threads: any, each for its own lane; nothing blocks or allocates. Memory: one mapping, touched as
 * lanes are used, never given back: threads may be inside at any time.
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
    SL_LANE_WORDS = 8192,                /* of 8 bytes: 64 KiB; a lane begins with that... */
    SL_LANE_WORDS_MAX = 1024 * 1024 / 8, /* ...and grows up to that */
    SL_LANE_DOMAINS = 1024, /* each takes 8 bytes of each lane, mapped and mostly never touched */
    /* A record's longest texts; what is longer is cut. Together they fit into a record. */
    SL_LANE_TEXT_MAX = SL_TEXT_MAX,
    SL_LANE_JSON_MAX = 2559,
    SL_LANE_RECORD_WORDS = 510,
    SL_LANE_TOLD = 256,       /* operators that NVTX's texts tell, one inside the other */
    SL_LANE_OPS = 512,        /* all operators: deeper than they are nested */
    SL_LANE_STARTS = 64,      /* operators that end on any thread whose ends have room here */
    SL_LANE_FINISH_WORDS = 8, /* an end's, whatever of the ring is before its end, and a pop's */
};

enum sl_lane_what {
    SL_LANE_PAD,  /* up to the end of the ring */
    SL_LANE_GROW, /* from here on the ring is twice as long; aux: where in it the next record is */
    SL_LANE_PUSH,
    SL_LANE_POP,
    SL_LANE_START,
    SL_LANE_END,
    SL_LANE_MARK,
    SL_LANE_THREAD_BEGIN, /* aux: its system id. Records that follow are its */
    SL_LANE_THREAD_END,   /* ends all that it pushed */
    SL_LANE_ACQUIRE,      /* a user's lock, aux: its number among the names; is waited for, */
    SL_LANE_ACQUIRED,     /* was got, */
    SL_LANE_NOT_ACQUIRED, /* was not, */
    SL_LANE_RELEASE,      /* is given back */
    SL_LANE_PAST,         /* an event of its own time */
    SL_LANE_STEP,         /* the same: a step of the job that has ended */
    SL_LANE_OP_BEGIN,     /* struct sl_lane_op */
    SL_LANE_OP_END,       /* aux: lower half of its handle */
    SL_LANE_OP_START,     /* struct sl_lane_op: one that may end on any thread, by... */
    SL_LANE_OP_FINISH,    /* ...its handle, in aux and one word; also of one whose beginning is
                             in another lane, or longer ago than SL_LANE_OPS others */
    SL_LANE_OP_NODE,      /* in the innermost a node of a CUDA graph was made: its id, one word */
};

/* What follows the header of a record, in this order. */
enum sl_lane_part {
    SL_LANE_HAS_STRING = 1 << 0,   /* nothing: `aux` is the number of a registered string */
    SL_LANE_HAS_CATEGORY = 1 << 1, /* low half of a word that it shares with... */
    SL_LANE_HAS_COLOR = 1 << 2,    /* ...ARGB, high half */
    SL_LANE_HAS_VALUE = 1 << 3,    /* a word for enum sl_lane_value, a word for its bits */
    SL_LANE_HAS_ID = 1 << 4,       /* a word: of a range that is started and ended */
    SL_LANE_HAS_TEXT = 1 << 5,     /* a word for the length, then the bytes; UTF-8 mostly */
    SL_LANE_HAS_JSON = 1 << 6,     /* the same: members of an object */
    SL_LANE_HAS_TIMES = 1 << 7,    /* two words, before all others: start and end, ns */
};

enum sl_lane_value {
    SL_LANE_NO_VALUE,
    SL_LANE_U64,
    SL_LANE_I64,
    SL_LANE_F64,
    SL_LANE_F32,
};

struct sl_lane_record {
    uint16_t what : 6;    /* enum sl_lane_what */
    uint16_t domain : 10; /* below SL_LANE_DOMAINS */
    uint8_t parts;        /* enum sl_lane_part */
    uint8_t pairs;        /* length in pairs of words, this one included */
    uint32_t aux;
    uint64_t stamp; /* sl_clock_stamp() */
};

_Static_assert(sizeof(struct sl_lane_record) == 16, "the commonest record is two words");
_Static_assert(SL_LANE_DOMAINS == 1 << 10, "as many as the record has room for");

/* An operator of PyTorch's begins. Behind it stand its name, what its row says besides (members of
 * an object) and its inputs (event/op_inputs_format.h), one right behind the other. */
struct sl_lane_op {
    struct sl_lane_record record; /* aux: 0, or what sl_python_line() gave */
    uint64_t handle;
    int64_t sequence;                /* -1: none */
    uint32_t thread, forward_thread; /* PyTorch's numbers; 0: none */
    uint32_t caller;                 /* of its backward pass: a thread, by system id; or 0 */
    uint16_t name_length, more_length, inputs_length;
    uint8_t scope;
    uint8_t was_cut; /* inputs did not fit */
};

/* An operator that a text of NVTX's told (collect/torch/nvtx_fallback.h), and that runs. */
struct sl_lane_told {
    uint32_t handle; /* lower half; 0: it has no record */
    int depth;       /* ranges of the default domain around it that are none */
    uint8_t is_user, is_evaluation;
};

/* An operator that has a record, and runs. */
struct sl_lane_open {
    uint32_t handle; /* lower half */
    int is_plain;    /* what Python code calls until its end is called in it */
};

struct sl_lane {
    /* the writer's */
    uint64_t at;           /* position behind its last record: what `head` is */
    uint64_t offset;       /* the same in the ring */
    uint64_t words;        /* the ring's length, all positions being below it */
    uint64_t limit;        /* no record but a pop may go beyond it without a look at `tail` */
    uint32_t reserved;     /* words that open ranges' pops, and the thread's end, will take */
    int ops, ops_skipped;  /* operators that have a record, inside those ones that have none... */
    int ops_plain;         /* ...and of the first, those that are plain */
    const void *ops_frame; /* Python's, when the outermost of these began */
    uint64_t left, wall;   /* until this position is read, none beyond that: lane.c, grow() */
    uint32_t thread;       /* system id */
    int announced;         /* THREAD_BEGIN is in the ring */
    int depth[SL_LANE_DOMAINS];   /* ranges pushed that have a record */
    int skipped[SL_LANE_DOMAINS]; /* inside those, ranges that have none: there was no room */
    uint32_t told, told_number;   /* operators; the thread's number among those that have some */
    struct sl_lane_told told_op[SL_LANE_TOLD];
    struct sl_lane_open op_open[SL_LANE_OPS]; /* `ops` of them, the outermost first */
    unsigned starts;                          /* those whose ends have room */
    struct sl_python_code_cache seen;

    /* shared */
    alignas(64) _Atomic uint64_t head;
    uint64_t *word; /* here, not beside what the reader changes all the time */
    alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t lost;      /* records for which there was no room */
    _Atomic uint32_t next_free; /* index + 1, while nobody holds it */

    /* the reader's */
    uint64_t read_offset, read_words;
    uint32_t reading_thread;
    int is_broken; /* no record can be found in it any more */
    uint64_t last_ns;
};

/* 0, -ENOMEM; -EALREADY. `bytes`: most memory for all lanes. */
int sl_lanes_init(size_t bytes);

/* What to do when a lane is getting full; any thread, never blocks. */
void sl_lanes_set_wake(void (*wake)(void));

/* The calling thread's lane, taken at the first call; NULL, counted: none is free, or the thread
 * has ended as far as we know. */
struct sl_lane *sl_lane_take(void);

extern _Thread_local struct sl_lane *sl_lane_mine;

static inline struct sl_lane *sl_lane_get(void)
{
    struct sl_lane *lane = sl_lane_mine;

    return __builtin_expect(lane != NULL, 1) ? lane : sl_lane_take();
}

/* Room was not where it was looked for: looks again. NULL, counted: there is none. */
struct sl_lane_record *sl_lane_room(struct sl_lane *lane, unsigned words);

/* Room for a record of `words`, an even number up to SL_LANE_RECORD_WORDS; NULL, counted: there is
 * none. It is read once sl_lane_put() was called. */
static inline struct sl_lane_record *sl_lane_begin(struct sl_lane *lane, unsigned words)
{
    /* Two words more than its own: for a push, its pop's. At the ring's end it may grow. */
    if (__builtin_expect(lane->at + words + 2 > lane->limit || lane->offset + words >= lane->words,
                         0))
        return sl_lane_room(lane, words);
    return (struct sl_lane_record *)&lane->word[lane->offset];
}

/* A record of something that is over: its name, and its own times (CLOCK_REALTIME ns). Counted, if
 * there is no room. */
void sl_lane_put_past(enum sl_lane_what what, const char *name, size_t length, uint64_t start_ns,
                      uint64_t end_ns);

/* The same for a record of two words whose room is reserved. */
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
    /* Release pairs with the acquire in the reader: the record before its position. */
    atomic_store_explicit(&lane->head, lane->at, memory_order_release);
}

/* A push has a record: its pop will. Gives the range's level, 0 the outermost. */
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

/* A push has no record: nor will what is inside it, nor its pop. */
int sl_lane_skip(struct sl_lane *lane, unsigned domain);

/* The same for operators: the place of one that has a record here, from 1 on; 0: it has none. */
static inline int sl_lane_op_find(const struct sl_lane *lane, uint32_t handle)
{
    int place = lane->ops;

    while (place && lane->op_open[place - 1].handle != handle)
        place--;
    return place;
}

/* Its end has the room that its beginning took with it. */
static inline void sl_lane_op_ended(struct sl_lane *lane, int place)
{
    lane->reserved -= 2;
    lane->limit += 2;
    lane->ops--;
    lane->ops_plain -= lane->op_open[place - 1].is_plain;
    for (int i = place - 1; i < lane->ops; i++)
        lane->op_open[i] = lane->op_open[i + 1];
}

/* Where there are too many, the outermost is forgotten: it may have ended on another thread. */
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

/* One that may end on any thread has a record, and there was room for so many words more: its end
 * will have them, if it comes here. */
static inline void sl_lane_op_started(struct sl_lane *lane)
{
    if (lane->starts == SL_LANE_STARTS)
        return;
    lane->starts++;
    lane->reserved += SL_LANE_FINISH_WORDS;
    lane->limit -= SL_LANE_FINISH_WORDS;
}

/* It ends: they are free. */
static inline void sl_lane_op_finished(struct sl_lane *lane)
{
    if (!lane->starts)
        return;
    lane->starts--;
    lane->reserved -= SL_LANE_FINISH_WORDS;
    lane->limit += SL_LANE_FINISH_WORDS;
}

/* Records that are not even tried. */
void sl_lanes_lose(uint64_t records);

/* Reader. */
unsigned sl_lanes_used(void); /* lanes that were ever taken: the first of them */
struct sl_lane *sl_lane_at(unsigned index);
/* The next record that was not read, which stays where it is until sl_lane_read(); NULL: none. */
const struct sl_lane_record *sl_lane_next(struct sl_lane *lane);
void sl_lane_read(struct sl_lane *lane, const struct sl_lane_record *record);
uint64_t sl_lanes_lost(void); /* records in all */
uint64_t sl_lanes_bytes(void);
/* A point of the clock before which few records were made; 0 or -EAGAIN. */
int sl_lanes_point(uint64_t *stamp, uint64_t *ns);

#endif
