/*
 * simcupti.h - the internals of the CUPTI stand-in.
 *
 * The stand-in is written only from the CUPTI headers and documentation. It shares no code with
 * syncline's runtime, so that it can judge a client independently. One library per CUPTI version is
 * linked from the same objects (CMakeLists.txt). Each library exports the functions of its version,
 * and version.c states the version.
 *
 * Data flow: probe.c (reports from the core) -> record.c (a record's bytes in this version's
 * layout) -> lane.c (the client buffer being filled) -> worker.c (the thread that completes
 * buffers). trouble.c injects failures on request.
 *
 * Lock order: lane -> worker -> {kinds, callbacks}. No lock is held during a callback of the
 * client.
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

/* ---- version.c: which CUPTI version this library is ---- */

const struct sim_version *sim_version(void);

/* ---- clients: number 0 for all users of the older calls, 1 and up for 13.2 subscribers ---- */

#define SIM_CLIENTS 4

/* The thread's current client, like CUDA's current context. Kinds, attributes, callbacks, lanes and
 * layouts belong to the current client. The client is number 0 outside SIM_EACH_CLIENT. */
extern __thread unsigned sim_client;

unsigned sim_client_first(void);
unsigned sim_client_after(unsigned client);

/* Runs the statement that follows once for each client, with sim_client set. The statement must not
 * `return` or `break`. */
#define SIM_EACH_CLIENT                                                                            \
    for (unsigned before_ = sim_client, once_ = 1; once_; once_ = 0, sim_client = before_)         \
        for (sim_client = sim_client_first(); sim_client < SIM_CLIENTS;                            \
             sim_client = sim_client_after(sim_client))

/* ---- attribute.c ---- */

bool sim_attribute_on(int attribute);
void sim_attributes_clear(void); /* restores the initial values */

/* ---- clock.c: CLOCK_REALTIME, or the client's clock from the moment it is registered ---- */

/* The clock of a client. sim_clock_now() returns the clock for a record that is made now. The
 * record keeps this clock, even if the client registers another one before the record's times are
 * written. */
typedef CUpti_TimestampCallbackFunc sim_clock;
sim_clock sim_clock_now(void);
/* Converts a span of CLOCK_REALTIME in place. A time stays unchanged if there is no client clock,
 * or if the time is 0. */
void sim_clock_convert(sim_clock clock, uint64_t *start_ns, uint64_t *end_ns);
void sim_clock_register(sim_clock clock); /* NULL: removes the clock */
/* Returns the monotonic time, for delays. A change of the wall clock does not affect this time. */
uint64_t sim_monotonic_ns(void);

/* ---- kinds.c: enabled kinds ---- */

/* If `context` is 0, returns the setting for all contexts. */
bool sim_kind_on(uint32_t kind, uint32_t context);
bool sim_api_on(enum sim_domain domain, uint32_t cbid);
CUptiResult sim_kind_set(uint32_t kind, bool on);
CUptiResult sim_kind_set_context(uint32_t context, uint32_t kind, bool on);
CUptiResult sim_api_set(enum sim_domain domain, uint32_t cbid, bool on);
bool sim_kinds_any(void);
void sim_kinds_clear(void); /* also clears the switches below */

/* Settings made by other cuptiActivityEnable... functions. All are atomic. */
struct sim_switches {
    atomic_bool latency_timestamps, event_timestamps, all_sync_records;
};
struct sim_switches *sim_switches(void);

/* ---- name.c: strings that records point to ---- */

struct sim_names {
    struct sim_name_chunk *chunks;
    struct {
        const char *key, *copy;
    } seen[64];
};

const char *sim_name_copy(struct sim_names *names, const char *text);
/* Called when the client has received the buffer. Its names become invalid when the client gives
 * `memory` again for a new buffer, or after the time of the option cupti-name-life. */
void sim_name_retire(struct sim_names *names, const uint8_t *memory);
void sim_name_spoil(const uint8_t *memory); /* if NULL: all names whose lifetime is over */
bool sim_name_waiting(void);

/* ---- buffer: a client buffer while CUPTI owns it ---- */

struct sim_record_places;

enum sim_owner {
    SIM_CLIENT, /* the program under test */
    SIM_THIEF   /* the other client that option cupti-steal adds */
};

struct sim_slot { /* one record in a buffer */
    uint32_t offset;
    uint16_t size;
    uint8_t record; /* enum sim_record */
    uint8_t kind;
    uint32_t correlation;
    uint64_t op_id; /* id of the operation, for the log: nodes of a graph share a correlation id */
    uint64_t key;   /* key for random decisions about this record */
    const struct sim_layout *layout;
    struct sim_op *op; /* pending operation, with a reference; NULL if the record is complete */
    sim_clock clock;
};

struct sim_buffer {
    uint8_t *memory;
    size_t size, used, max_records;
    enum sim_owner owner;
    unsigned client;
    struct sim_slot *slot;
    size_t slots, slots_cap;
    size_t finished; /* all slots before this index are complete */
    struct sim_names names;
    struct sim_record_places **places; /* layouts of user-defined records, or NULL */
    bool forced;                       /* true if delivered even with incomplete records */
    bool for_show;     /* a dummy buffer (lane.c), of which the client reads nothing */
    uint64_t ready_ns; /* monotonic time from which it may be delivered; 0: not complete yet */
    struct sim_buffer *next;
};

struct sim_buffer *sim_buffer_new(void); /* NULL if memory is exhausted */
/* Completes the records of operations that have ended. Returns true if all records are complete. */
bool sim_buffer_finish(struct sim_buffer *b);
/* Stops waiting for pending operations. The times of their records stay 0. */
void sim_buffer_give_up(struct sim_buffer *b);
void sim_buffer_free(struct sim_buffer *b);

/* ---- lane.c: buffers being filled, one for all threads or one per thread ---- */

struct sim_place { /* reserved bytes for a record; the lane stays locked until sim_place_close() */
    struct sim_lane *lane;
    struct sim_buffer *buffer;
    uint8_t *record;
    const struct sim_layout *layout; /* NULL if the record is raw bytes */
};

/* Reserves bytes for a record, and requests a client buffer on this thread if needed. Returns false
 * if the record was dropped, counted and logged; then no lock is held. `op` is a pending operation,
 * or NULL. */
bool sim_place_open(struct sim_place *place, enum sim_record record, uint32_t kind,
                    uint32_t correlation, struct sim_op *op);
/* Like sim_place_open(), for a raw record of a recording. The caller copies the bytes. */
bool sim_place_open_raw(struct sim_place *place, const struct sim_raw_record *raw);
void sim_place_close(struct sim_place *place);

/* Passes active buffers to the worker: the complete buffers, or if `forced` all buffers, including
 * empty buffers. */
void sim_lane_flush(bool forced);
void sim_lane_close(void); /* closes the client's lanes; later records go into new buffers */
/* Delivers this thread's buffer, and adds `dropped` to the number of dropped records. */
void sim_lane_hand_over(uint64_t dropped);
uint64_t sim_lane_take_dropped(void);
/* At process exit: logs every record that is still in a lane. */
void sim_lane_log_rest(void);
bool sim_in_client(void); /* true if this thread is inside a buffer callback */

/* ---- worker.c: the CUPTI thread ---- */

void sim_worker_start(void);
void sim_worker_push(struct sim_buffer *b);
/* Delivers the buffers that are ready, and returns after the delivery. If the worker thread itself
 * makes the call, the function returns immediately. */
void sim_worker_flush(bool forced);
/* At process exit: stops delivery and logs all undelivered records. */
void sim_worker_end(void);
bool sim_worker_alive(void); /* returns false in a forked child, and after sim_worker_end() */
/* getpid() of the process that makes records; a forked child makes none. */
extern _Atomic uint32_t sim_process_id;

/* ---- callbacks of the activity API (worker.c, trouble.c) ---- */

/* The callbacks of 13.2 subscribers have more arguments. */
struct sim_request_info;
struct sim_complete_info;
typedef void (*sim_request_v2)(uint8_t **buffer, size_t *size, size_t *max_records,
                               struct sim_request_info *info);
typedef void (*sim_complete_v2)(uint8_t *buffer, size_t size, size_t valid_size,
                                struct sim_complete_info *info);

struct sim_callbacks { /* the two callbacks of one interface (older or newer) are set, the other two
                          are NULL */
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    sim_request_v2 request_v2;
    sim_complete_v2 complete_v2;
    enum sim_owner owner;
};
void sim_callbacks_set(const struct sim_callbacks *callbacks);
struct sim_callbacks sim_callbacks_get(void);

/* ---- activity.c ---- */

/* Returns the size in bytes of a record of this kind. Returns 0 if this version has no such record,
 * and no raw record of the kind was replayed. */
size_t sim_record_size(uint32_t kind);
enum sim_record sim_record_of(uint32_t kind); /* R_COUNT if there is none */

/* ---- fields.c: user-defined records ---- */

struct sim_config;
/* Returns the layout of a record kind for the current client. This is the layout of this version,
 * or the layout of the fields that the client selected. Returns NULL if this version has no such
 * record, or the client selected no fields. */
const struct sim_layout *sim_layout_of(uint32_t kind);
bool sim_fields_on(void);
bool sim_fields_chosen(uint32_t kind);
CUptiResult sim_fields_set(bool on);
CUptiResult sim_fields_choose(uint32_t kind, const struct sim_config *config);
/* Called when a record of the kind is written to a buffer. Returns the field layouts, by kind, to
 * be reported with the buffer. */
struct sim_record_places **sim_fields_written(uint32_t kind);
void sim_fields_tell(struct sim_complete_info *info, struct sim_record_places **places);
void sim_fields_flushed(void); /* a forced flush has ended: another selection is allowed */
void sim_fields_clear(void);

/* ---- record.c: the bytes of a record ---- */

void sim_put(const struct sim_place *place, enum sim_field field, uint64_t value);
/* Reads a field of a record in this version's layout. */
uint64_t sim_get(const uint8_t *record, enum sim_record type, enum sim_field field);
void sim_record_op(struct sim_place *place, enum sim_record type, uint32_t kind, struct sim_op *op);
void sim_record_op_end(struct sim_slot *slot, uint8_t *record); /* writes the operation's times */
uint32_t sim_thread_id(void);
extern _Atomic uint32_t sim_thread_id_type[SIM_CLIENTS];

/* ---- probe.c ---- */

void sim_probe_start(void); /* registers with the core, once */
void sim_overhead(uint32_t kind, uint64_t start_ns, uint64_t end_ns);
CUptiResult sim_dump_objects(uint32_t kind);

/* ---- replay.c: recorded records ---- */

void sim_replay_wear(const struct sim_guise *guise);
uint32_t sim_replay_thread(void); /* recorded thread that this thread imitates, or 0 */
uint32_t sim_process(void);       /* process id for this thread's records */
void sim_replay_raw(const struct sim_raw_record *raw);
size_t sim_replay_size(uint32_t kind); /* size of a raw record; 0 if none was replayed */
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

/* ---- v2.c: subscribers of 13.2 ---- */

bool sim_v2_on(void); /* true if a subscriber exists; the older calls then return an error */
void sim_v2_unsubscribe(unsigned client);

/* ---- trouble.c: options ---- */

extern struct sim_trouble {
    bool shuffle, null_crash, overhead, hang;
    int per_thread; /* 1 for a buffer per thread, 0 for one buffer, -1 for the default of the
                       version */
    double drop, twice, no_time;
    uint64_t late_ns, hold_ns, stall_ns, name_life_ns, steal_at, clock_at, force_each,
        buffer_records;
} sim_trouble;

void sim_trouble_read(void);
/* For the options cupti-steal, cupti-clock and cupti-force. The caller holds no lock. */
void sim_trouble_count_record(void);
void sim_trouble_shuffle(struct sim_buffer *b);
void sim_trouble_twice(struct sim_buffer *b);
/* Writes one line to the log for each record. */
void sim_log_record(const char *what, const struct sim_slot *slot);
void sim_log_buffer(const char *what, const struct sim_buffer *b);
const char *sim_kind_name(uint32_t kind);

/* Returns the file name of the library or program that made the current CUPTI call, for the log. */
const char *sim_caller_name(void);

/* ---- activity.c: code at the start of every exported function ---- */

CUptiResult sim_error(CUptiResult result); /* stores the result for cuptiGetLastError */
extern __thread const void *sim_caller;    /* return address of this thread's last call */

/* Injected failures are returned before the arguments are checked, because a real library may also
 * fail before it checks them. */
#define SIM_ENTRY()                                                                                \
    do {                                                                                           \
        int sim_code_ = sim_fail(__func__);                                                        \
        sim_caller = __builtin_return_address(0);                                                  \
        if (sim_code_) {                                                                           \
            return sim_error((CUptiResult)sim_code_);                                              \
        }                                                                                          \
    } while (0)

/* account.c: the cost of the client's callbacks */
enum sim_callback {
    SIM_CALLBACK_REQUEST,
    SIM_CALLBACK_COMPLETE
};
uint64_t sim_account_begin(void);
void sim_account_end(enum sim_callback callback, uint64_t began, size_t delivered,
                     size_t delivered_bytes);
void sim_account_log(void);

#endif
