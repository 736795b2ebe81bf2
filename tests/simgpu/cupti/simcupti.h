/*
 * simcupti.h - the inside of the CUPTI stand-in.
 *
 * Written from CUPTI's headers and documentation alone, so that it can judge a client: it shares
 * nothing with syncline's runtime. One library per CUPTI version is linked from the same objects
 * (CMakeLists.txt): its export list is that version's, and version.c tells which it is.
 *
 * Data flow: probe.c (what the core tells) -> record.c (a record's bytes in this version's layout)
 * -> lane.c (the client's buffer that is being filled) -> worker.c (the thread that completes
 * buffers). trouble.c holds what goes wrong on request.
 *
 * Lock order: lane -> worker -> {kinds, callbacks}. None is held across a callback of the client.
 */
#ifndef SIMCUPTI_H
#define SIMCUPTI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "core/probe.h"
#include "cupti/layout_table.h"

/* ---- version.c: which CUPTI this is ---- */

const struct sim_version *sim_version(void);

/* ---- clients: whoever uses the older calls (0), and the subscribers of 13.2 (1 and up) ---- */

#define SIM_CLIENTS 4

/* Whose turn it is on this thread, as CUDA has a current context: kinds, attributes, callbacks,
 * lanes and layouts are the current client's. 0 outside of the below. */
extern __thread unsigned sim_client;

unsigned sim_client_first(void);
unsigned sim_client_after(unsigned client);

/* Runs what follows once as each client. No `return` or `break` out of it. */
#define SIM_EACH_CLIENT                                                                            \
    for (unsigned before_ = sim_client, once_ = 1; once_; once_ = 0, sim_client = before_)         \
        for (sim_client = sim_client_first(); sim_client < SIM_CLIENTS;                            \
             sim_client = sim_client_after(sim_client))

/* ---- attribute.c ---- */

bool sim_attribute_on(int attribute);
void sim_attributes_clear(void); /* as they are at first */

/* ---- clock.c: CLOCK_REALTIME, or the client's clock from the moment it is registered ---- */

/* What a record made now will be stamped with; kept until its times are written. */
typedef CUpti_TimestampCallbackFunc sim_clock;
sim_clock sim_clock_now(void);
/* A span of CLOCK_REALTIME, in place; as it is where there is no such clock, or no time. */
void sim_clock_convert(sim_clock clock, uint64_t *start_ns, uint64_t *end_ns);
void sim_clock_register(sim_clock clock); /* NULL: none any more */
/* For what is to happen later: the wall clock may be set. */
uint64_t sim_monotonic_ns(void);

/* ---- kinds.c: what is enabled ---- */

bool sim_kind_on(uint32_t kind, uint32_t context); /* context 0: the global setting */
bool sim_api_on(enum sim_domain domain, uint32_t cbid);
CUptiResult sim_kind_set(uint32_t kind, bool on);
CUptiResult sim_kind_set_context(uint32_t context, uint32_t kind, bool on);
CUptiResult sim_api_set(enum sim_domain domain, uint32_t cbid, bool on);
bool sim_kinds_any(void);
void sim_kinds_clear(void); /* with the switches below */

/* What the Enable... calls for records switch; all atomic. */
struct sim_switches {
    atomic_bool latency_timestamps, event_timestamps, all_sync_records;
};
struct sim_switches *sim_switches(void);

/* ---- name.c: strings that records point to, good for as long as their buffer ---- */

struct sim_names {
    struct sim_name_chunk *chunks;
    struct {
        const char *key, *copy;
    } seen[64];
};

const char *sim_name_copy(struct sim_names *names, const char *text);
/* The buffer has gone to the client: its names go bad when `memory` comes back in a request, or
 * after the life time of option cupti-name-life. */
void sim_name_retire(struct sim_names *names, const uint8_t *memory);
void sim_name_spoil(const uint8_t *memory); /* NULL: those whose time is over */
bool sim_name_waiting(void);

/* ---- buffer: one of the client's, while CUPTI has it ---- */

struct sim_record_places;

enum sim_owner {
    SIM_CLIENT, /* the program under test */
    SIM_THIEF   /* the second client of option cupti-steal */
};

struct sim_slot { /* one record in a buffer */
    uint32_t offset;
    uint16_t size;
    uint8_t record; /* enum sim_record */
    uint8_t kind;
    uint32_t correlation;
    uint64_t op_id; /* the operation's, for the log: nodes of a graph share a correlation */
    uint64_t key;   /* what decisions about this record are drawn with */
    const struct sim_layout *layout;
    struct sim_op *op; /* unfinished operation, referenced; NULL when the record is whole */
    sim_clock clock;
};

struct sim_buffer {
    uint8_t *memory;
    size_t size, used, max_records;
    enum sim_owner owner;
    unsigned client;
    struct sim_slot *slot;
    size_t slots, slots_cap;
    size_t finished; /* slots before this one are whole */
    struct sim_names names;
    struct sim_record_places **places; /* of a subscriber's own records; NULL: it has none */
    bool forced;                       /* goes out even with unfinished records */
    bool for_show;     /* smaller than the client's others: it reads none of it (lane.c) */
    uint64_t ready_ns; /* monotonic: whole since, lateness included; 0: not yet */
    struct sim_buffer *next;
};

struct sim_buffer *sim_buffer_new(void); /* NULL: no memory */
/* Completes the records of operations that have ended; true if none is unfinished. */
bool sim_buffer_finish(struct sim_buffer *b);
/* Gives unfinished records up: end = 0, and never again. */
void sim_buffer_give_up(struct sim_buffer *b);
void sim_buffer_free(struct sim_buffer *b);

/* ---- lane.c: buffers being filled, one for all threads or one per thread ---- */

struct sim_place { /* a record's place, its lane locked until sim_place_close() */
    struct sim_lane *lane;
    struct sim_buffer *buffer;
    uint8_t *record;
    const struct sim_layout *layout; /* NULL: raw bytes */
};

/* Takes a place for a record; asks the client for a buffer where needed, on this thread. False:
 * dropped (counted and logged), nothing is locked. `op` NULL or an operation not yet ended. */
bool sim_place_open(struct sim_place *place, enum sim_record record, uint32_t kind,
                    uint32_t correlation, struct sim_op *op);
/* The same for a recorded record, whose bytes are the caller's to copy. */
bool sim_place_open_raw(struct sim_place *place, const struct sim_raw_record *raw);
void sim_place_close(struct sim_place *place);

/* Hands the active buffers over: those without unfinished records, or all, empty ones too
 * (forced). */
void sim_lane_flush(bool forced);
void sim_lane_close(void);                 /* the client's: it goes on with new buffers */
void sim_lane_hand_over(uint64_t dropped); /* this thread's, and so many records are lost */
uint64_t sim_lane_take_dropped(void);
/* The process ends: logs every record that is still in a lane. */
void sim_lane_log_rest(void);
bool sim_in_client(void); /* this thread is inside a buffer callback */

/* ---- worker.c: CUPTI's own thread ---- */

void sim_worker_start(void);
void sim_worker_push(struct sim_buffer *b);
/* Delivers what can be; returns when that is done, at once on the worker's own thread. */
void sim_worker_flush(bool forced);
/* The process ends: no more deliveries, everything undelivered is logged. */
void sim_worker_end(void);
bool sim_worker_alive(void); /* false in a forked child, and after the end */
/* getpid() of the process that makes records, which no forked child does. */
extern _Atomic uint32_t sim_process_id;

/* ---- callbacks of the activity API (worker.c, trouble.c) ---- */

/* Those of 13.2's subscribers are told more. */
struct sim_request_info;
struct sim_complete_info;
typedef void (*sim_request_v2)(uint8_t **buffer, size_t *size, size_t *max_records,
                               struct sim_request_info *info);
typedef void (*sim_complete_v2)(uint8_t *buffer, size_t size, size_t valid_size,
                                struct sim_complete_info *info);

struct sim_callbacks { /* the first two, or the last two */
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    sim_request_v2 request_v2;
    sim_complete_v2 complete_v2;
    enum sim_owner owner;
};
void sim_callbacks_set(const struct sim_callbacks *callbacks);
struct sim_callbacks sim_callbacks_get(void);

/* ---- activity.c ---- */

/* Bytes of a record of this kind; 0 if this version writes none, and none was replayed. */
size_t sim_record_size(uint32_t kind);
enum sim_record sim_record_of(uint32_t kind); /* R_COUNT: none */

/* ---- fields.c: user-defined records ---- */

struct sim_config;
/* How records of a kind lie for this client: as in this version, or as it has chosen. NULL: this
 * version has no such record, or it has chosen nothing. */
const struct sim_layout *sim_layout_of(uint32_t kind);
bool sim_fields_on(void);
bool sim_fields_chosen(uint32_t kind);
CUptiResult sim_fields_set(bool on);
CUptiResult sim_fields_choose(uint32_t kind, const struct sim_config *config);
/* A record of the kind goes into a buffer: where fields stand, kind by kind, to be told with it. */
struct sim_record_places **sim_fields_written(uint32_t kind);
void sim_fields_tell(struct sim_complete_info *info, struct sim_record_places **places);
void sim_fields_flushed(void); /* by force: now there may be another choice */
void sim_fields_clear(void);

/* ---- record.c: bytes ---- */

void sim_put(const struct sim_place *place, enum sim_field field, uint64_t value);
/* Of a record as this version has it. */
uint64_t sim_get(const uint8_t *record, enum sim_record type, enum sim_field field);
void sim_record_op(struct sim_place *place, enum sim_record type, uint32_t kind, struct sim_op *op);
void sim_record_op_end(struct sim_slot *slot, uint8_t *record); /* the operation's times */
uint32_t sim_thread_id(void);
extern _Atomic uint32_t sim_thread_id_type[SIM_CLIENTS];

/* ---- probe.c ---- */

void sim_probe_start(void); /* registers with the core; once */
void sim_overhead(uint32_t kind, uint64_t start_ns, uint64_t end_ns);
CUptiResult sim_dump_objects(uint32_t kind);

/* ---- replay.c: records of a recording ---- */

void sim_replay_wear(const struct sim_guise *guise);
uint32_t sim_replay_thread(void); /* of this thread's guise; 0: none */
uint32_t sim_process(void);       /* whose records this thread's are */
void sim_replay_raw(const struct sim_raw_record *raw);
size_t sim_replay_size(uint32_t kind); /* of the raw records of a kind; 0: none was played */
void sim_replay_count_flush(void);
uint64_t sim_replay_flushes(void);

/* ---- external.c: stacks of external correlation ids, per thread ---- */

void sim_external_records(uint32_t correlation);

/* ---- subscriber.c: the callback API ---- */

void sim_subscriber_take(CUpti_CallbackFunc callback, void *userdata);
CUpti_SubscriberHandle sim_subscriber_handle(unsigned client);
unsigned sim_subscriber_client(CUpti_SubscriberHandle given);
void sim_subscriber_graph(const struct sim_graph_fact *fact);
void sim_subscriber_call(enum sim_domain domain, uint32_t cbid, uint32_t correlation, bool enter,
                         int result);
void sim_subscriber_clear(void);
const char *sim_callback_name(enum sim_domain domain, uint32_t cbid);

/* ---- v2.c: 13.2's subscribers ---- */

bool sim_v2_on(void); /* there is one: the older calls are refused */
void sim_v2_unsubscribe(unsigned client);

/* ---- trouble.c: options ---- */

extern struct sim_trouble {
    bool shuffle, null_crash, overhead, hang;
    int per_thread; /* -1: as the version has it */
    double drop, twice, no_time;
    uint64_t late_ns, hold_ns, stall_ns, name_life_ns, steal_at, clock_at, force_each,
        buffer_records;
} sim_trouble;

void sim_trouble_read(void);
void sim_trouble_count_record(void); /* for cupti-steal, -clock and -force; no lock held */
void sim_trouble_shuffle(struct sim_buffer *b);
void sim_trouble_twice(struct sim_buffer *b);
/* One line of the log per record. */
void sim_log_record(const char *what, const struct sim_slot *slot);
void sim_log_buffer(const char *what, const struct sim_buffer *b);
const char *sim_kind_name(uint32_t kind);

/* Whose call the current one is, for the log: the file name of the object that it came from. */
const char *sim_caller_name(void);

/* ---- activity.c: the entry of every exported function ---- */

CUptiResult sim_error(CUptiResult result); /* remembers it for cuptiGetLastError */
extern __thread const void *sim_caller;    /* where this thread's last call returns to */

/* Injected failures come first, as a real library fails before it looks at its arguments. */
#define SIM_ENTRY()                                                                                \
    do {                                                                                           \
        int sim_code_ = sim_fail(__func__);                                                        \
        sim_caller = __builtin_return_address(0);                                                  \
        if (sim_code_) {                                                                           \
            return sim_error((CUptiResult)sim_code_);                                              \
        }                                                                                          \
    } while (0)

/* account.c: what the client's callbacks cost */
enum sim_callback {
    SIM_CALLBACK_REQUEST,
    SIM_CALLBACK_COMPLETE
};
uint64_t sim_account_begin(void);
void sim_account_end(enum sim_callback callback, uint64_t began, size_t delivered,
                     size_t delivered_bytes);
void sim_account_log(void);

#endif
