/*
 * ops.c - finds PyTorch, and provides the functions that its observer calls.
 *
 * Threads, memory: see ops.h. Once found, PyTorch and the observer stay loaded for good.
 */
#include "collect/torch/ops.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/home.h"
#include "base/import_slot.h"
#include "base/loader.h"
#include "base/log.h"
#include "base/software.h"
#include "collect/lane/lane.h"
#include "collect/lane/step.h"
#include "collect/python/frames.h"
#include "collect/python/text.h"
#include "collect/torch/discover.h"
#include "collect/torch/functions.h"
#include "collect/torch/ops_abi.h"
#include "collect/torch/wait_sites.h"

/* Longest text in bytes that put() copies without calling memcpy(). */
#define SHORT_BYTES 128

static struct {
    struct sl_torch_ops_observer observer; /* `enable` is NULL if there is no observer */
    enum sl_torch_ops_mode mode;
    uint64_t generation;
    struct sl_torch torch;
    int is_met, is_found, is_enabled; /* `is_met`: PyTorch was discovered; `is_found`: an observer
                                       * is attached; `is_enabled`: the observer is enabled */
    _Atomic int is_wanted, is_stopped;
    _Atomic int missing;   /* value of `mode` if a PyTorch without an observer was found */
    _Atomic uint32_t step; /* lower half of the handle of the user scope that marks the running
                            * step */
} ops;

/* ---- functions that the observer calls ---- */

static unsigned words_of(size_t name, size_t more, size_t inputs)
{
    size_t bytes = sizeof(struct sl_lane_op) + name + more + inputs;

    return (unsigned)((bytes + 15) / 16 * 2);
}

/* Copies bytes and returns the end of the copy. Nearly all copies are short. Short copies are made
 * word by word, which takes less time than a call of memcpy(). The last word may overlap the word
 * before it. */
static char *put(char *to, const void *from, size_t length)
{
    char *end = to + length;
    const char *at = from, *last;

    if (length < sizeof(uint64_t) || length > SHORT_BYTES) {
        if (length)
            memcpy(to, from, length);
        return end;
    }
    last = at + length - sizeof(uint64_t);
    for (; at < last; at += sizeof(uint64_t), to += sizeof(uint64_t))
        memcpy(to, at, sizeof(uint64_t));
    memcpy(end - sizeof(uint64_t), last, sizeof(uint64_t));
    return end;
}

static int is_collective(const struct sl_torch_op *op)
{
    static const char name[] = "record_param_comms";

    return op->name_length == sizeof(name) - 1 && memcmp(op->name, name, sizeof(name) - 1) == 0;
}

/* Writes the beginning of an operator. Returns NULL if the lane is full. */
static struct sl_lane_op *put_begin(struct sl_lane *lane, const struct sl_torch_op *op,
                                    enum sl_lane_what what, uint32_t line)
{
    size_t name = op->name_length < SL_LANE_TEXT_MAX ? op->name_length : SL_LANE_TEXT_MAX;
    size_t more = op->more_length, inputs = op->inputs_length;
    struct sl_lane_op *to;
    char *at;
    unsigned words;

    /* Parts that are too long for a record are left out. */
    if (words_of(name, more, inputs) > SL_LANE_RECORD_WORDS)
        inputs = 0;
    if (words_of(name, more, inputs) > SL_LANE_RECORD_WORDS)
        more = 0;
    words = words_of(name, more, inputs);
    to = (struct sl_lane_op *)sl_lane_begin(
        lane, what == SL_LANE_OP_START ? words + SL_LANE_FINISH_WORDS : words);
    if (!to)
        return NULL;
    *to = (struct sl_lane_op){
        .record = {.what = (uint8_t)what, .pairs = (uint8_t)(words / 2), .aux = line},
        .handle = op->handle,
        .sequence = op->sequence,
        .thread = op->thread,
        .forward_thread = op->forward_thread,
        .caller = op->caller,
        .name_length = (uint16_t)name,
        .more_length = (uint16_t)more,
        .inputs_length = (uint16_t)inputs,
        .scope = op->scope,
        .was_cut = op->was_cut || inputs < op->inputs_length,
        .function = is_collective(op) ? (uint8_t)sl_torch_function_now() : 0,
    };
    at = put((char *)(to + 1), op->name, name);
    at = put(at, op->more, more);
    put(at, op->inputs, inputs);
    /* Taken last, so that the time of writing the record is not part of the operator. */
    to->record.stamp = sl_clock_stamp();
    sl_lane_put(lane, words);
    return to;
}

/* Returns whether an operator of this scope ends on the thread where it began. Then the operator
 * contains all calls that Python code makes until the operator's end. */
static int is_plain(uint8_t scope)
{
    return scope != SL_TORCH_SCOPE_USER && scope != SL_TORCH_SCOPE_SCRIPT;
}

/* Returns the Python line for an operator. An operator that Python code calls has a line. An
 * operator that another operator calls has none. */
static uint32_t line_of(struct sl_lane *lane, const struct sl_torch_op *op)
{
    const void *frame;

    if (op->scope == SL_TORCH_SCOPE_USER)
        return 0;
    frame = sl_python_frame();
    if (!lane->ops_plain)
        lane->ops_frame = frame;
    else if (frame == lane->ops_frame && op->scope != SL_TORCH_SCOPE_SITE)
        return 0;
    return frame ? sl_python_line(frame, &lane->seen) : 0;
}

struct renamed {
    struct sl_torch_op op;
    struct sl_step_name as;
};

/* Begins a step if the scope's name marks one. Returns the scope to record: `op` itself, or a
 * renamed copy of it in `room`. */
static const struct sl_torch_op *note_step(const struct sl_torch_op *op, struct renamed *room)
{
    uint32_t given;

    if (sl_step_read_name(op->name, op->name_length, &given) != 0)
        return op;
    atomic_store_explicit(&ops.step, (uint32_t)op->handle, memory_order_relaxed);
    if (!sl_step_begin_named(given, 1, &room->as))
        return op;
    room->op = *op;
    room->op.name = room->as.name;
    room->op.name_length = strlen(room->as.name);
    room->op.more = room->as.more;
    room->op.more_length = (uint32_t)strlen(room->as.more);
    return &room->op;
}

void sl_torch_ops_begin(const struct sl_torch_op *op)
{
    struct renamed room;
    struct sl_lane *lane;
    uint32_t line;

    if (atomic_load_explicit(&ops.is_stopped, memory_order_relaxed))
        return;
    if (op->scope == SL_TORCH_SCOPE_USER)
        op = note_step(op, &room);
    lane = sl_lane_get();
    if (!lane)
        return;
    if (op->is_async) {
        if (put_begin(lane, op, SL_LANE_OP_START, 0))
            sl_lane_op_started(lane);
        return;
    }
    if (!lane->ops_skipped) {
        line = line_of(lane, op);
        if (put_begin(lane, op, SL_LANE_OP_BEGIN, line)) {
            sl_lane_op_begun(lane, (uint32_t)op->handle, is_plain(op->scope));
            return;
        }
    }
    sl_lane_op_skip(lane);
}

static void put_word(struct sl_lane *lane, enum sl_lane_what what, uint64_t word, uint64_t stamp)
{
    struct sl_lane_record *r = sl_lane_begin(lane, 4);

    if (!r)
        return;
    *r = (struct sl_lane_record){
        .what = (uint8_t)what, .pairs = 2, .aux = (uint32_t)word, .stamp = stamp};
    memcpy(r + 1, &word, sizeof(word));
    sl_lane_put(lane, 4);
}

/* Ends an operator that is not open in this lane. Some scopes end on another thread although they
 * were not marked as asynchronous. A TorchScript function that waits for a fork continues on the
 * fork's thread. The scope of a generator continues on the thread of the generator's next
 * caller. */
static void end_elsewhere(struct sl_lane *lane, uint64_t handle, int is_async, uint64_t stamp)
{
    if (!is_async && lane->ops_skipped) {
        lane->ops_skipped--;
        return;
    }
    if (is_async)
        sl_lane_op_finished(lane);
    if (handle)
        put_word(lane, SL_LANE_OP_FINISH, handle, stamp);
}

void sl_torch_ops_end(uint64_t handle, uint8_t scope, int is_async)
{
    uint64_t stamp = sl_clock_stamp();
    struct sl_lane *lane;
    int place;

    if (atomic_load_explicit(&ops.is_stopped, memory_order_relaxed))
        return;
    if (scope == SL_TORCH_SCOPE_USER &&
        atomic_load_explicit(&ops.step, memory_order_relaxed) == (uint32_t)handle)
        sl_step_end_named();
    lane = sl_lane_get();
    if (!lane)
        return;
    place = is_async ? 0 : sl_lane_op_find(lane, (uint32_t)handle);
    if (!place) {
        end_elsewhere(lane, handle, is_async, stamp);
        return;
    }
    /* Operators without a record that are open inside this one can only end on other threads. */
    lane->ops_skipped = 0;
    sl_lane_op_ended(lane, place);
    *sl_lane_reserved(lane) = (struct sl_lane_record){
        .what = SL_LANE_OP_END, .pairs = 1, .aux = (uint32_t)handle, .stamp = stamp};
    sl_lane_put(lane, 2);
}

/* A wait inside an operator that the same Python frame has called gets the operator's line. So such
 * a wait needs no record. */
int sl_torch_ops_site_begin(void)
{
    const struct sl_torch_op site = {.name = "", .sequence = -1, .scope = SL_TORCH_SCOPE_SITE};
    const struct sl_lane *lane = sl_lane_mine;
    const void *frame;

    if (!sl_torch_ops_are_wanted())
        return 0;
    frame = sl_python_frame();
    if (!frame || (lane && lane->ops_plain && lane->ops_frame == frame))
        return 0;
    sl_torch_ops_begin(&site);
    return 1;
}

void sl_torch_ops_site_end(void)
{
    sl_torch_ops_end(0, SL_TORCH_SCOPE_SITE, 0);
}

/* Nodes inside an operator without a record are dropped. Otherwise such a node would be recorded
 * for the operator around this operator. */
void sl_torch_ops_node(uint64_t node)
{
    struct sl_lane *lane = sl_lane_mine;

    if (node && lane && lane->ops && !lane->ops_skipped &&
        !atomic_load_explicit(&ops.is_stopped, memory_order_relaxed))
        put_word(lane, SL_LANE_OP_NODE, node, sl_clock_stamp());
}

static const struct sl_torch_ops_host host = {SL_TORCH_OPS_ABI, sl_torch_ops_begin,
                                              sl_torch_ops_end};

/* ---- finding PyTorch ---- */

/* Enables the observer if operators are wanted, otherwise disables it. PyTorch then locks its list
 * of observers. A fork must not happen meanwhile, because the child would inherit the locked
 * lock. */
static void follow(void)
{
    int on = atomic_load(&ops.is_wanted) && !atomic_load(&ops.is_stopped), err;

    if (!ops.observer.enable || on == ops.is_enabled)
        return;
    sl_loader_enter();
    err = on ? ops.observer.enable(ops.mode == SL_TORCH_OPS_FULL) : ops.observer.disable();
    sl_loader_leave();
    if (err)
        sl_log(SL_LOG_WARN,
               "PyTorch rejected syncline's operator observer: the trace has no PyTorch operators; "
               "rebuild the observer with python_hook/build_observers.sh, or set SYNCLINE_OPS=off");
    ops.is_enabled = on;
}

/* Loads the observer. Returns NULL, or the reason of the failure. */
static const char *load_observer(const struct sl_torch *torch, const char *path)
{
    sl_torch_observer_fn entry;
    const char *why = NULL;
    void *library;
    int err;

    if (!torch->is_named)
        return "its libtorch_cpu.so was renamed after the build";
    library = sl_loader_open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        why = dlerror();
        return why ? why : "it cannot be loaded";
    }
    entry = (sl_torch_observer_fn)(uintptr_t)sl_loader_symbol(library, SL_TORCH_OPS_ENTRY);
    err = entry ? entry(&host, &ops.observer) : -ENOENT;
    if (!err && ops.observer.abi == SL_TORCH_OPS_ABI)
        return NULL;
    ops.observer.enable = NULL;
    return "the observer was built for another version of syncline";
}

static int watch(void)
{
    int err;

    sl_loader_enter();
    err = ops.observer.watch(ops.mode == SL_TORCH_OPS_FULL);
    sl_loader_leave();
    return err;
}

static void take(const struct sl_torch *torch, const char *home)
{
    char path[PATH_MAX];
    const char *why = sl_torch_observer_path(torch, home, path, sizeof(path))
                          ? "none was built for this version"
                          : load_observer(torch, path);

    if (!why && watch()) {
        ops.observer.enable = NULL;
        why = "PyTorch rejected it";
    }
    if (!why) {
        sl_log(SL_LOG_DEBUG, "operators of PyTorch %s are recorded by %s", torch->version, path);
        return;
    }
    if (sl_home_path(path, sizeof(path), home, "observers"))
        strcpy(path, "DIR");
    sl_log(SL_LOG_INFO,
           "no operator observer for PyTorch %s (%s): in Python, PyTorch's NVTX ranges give names, "
           "nesting and sequence numbers instead, at a few microseconds per operator; build the "
           "observer with python_hook/build_observers.sh --out %s, or silence this with "
           "SYNCLINE_OPS=off",
           *torch->version ? torch->version : "of unknown version", why, path);
    atomic_store(&ops.missing, ops.mode);
}

int sl_torch_ops_attach(enum sl_torch_ops_mode mode, const char *home)
{
    uint64_t generation = sl_import_generation();

    if (ops.is_found || generation == ops.generation || atomic_load(&ops.is_stopped))
        return 0;
    ops.generation = generation;
    ops.mode = mode;
    if (!ops.is_met && sl_torch_discover(&ops.torch))
        return 0;
    ops.is_met = 1;
    sl_python_packages_are_in(ops.torch.packages);
    sl_software_set(SL_SOFTWARE_PYTORCH, ops.torch.version);
    if (mode == SL_TORCH_OPS_OFF)
        return 0;
    ops.is_found = 1;
    sl_wait_sites_watch();
    take(&ops.torch, home);
    follow();
    return atomic_load(&ops.missing) != SL_TORCH_OPS_OFF;
}

enum sl_torch_ops_mode sl_torch_ops_by_strings(void)
{
    enum sl_torch_ops_mode mode = (enum sl_torch_ops_mode)atomic_load(&ops.missing);

    return atomic_load(&ops.is_stopped) ? SL_TORCH_OPS_OFF : mode;
}

int sl_torch_ops_are_wanted(void)
{
    return atomic_load_explicit(&ops.is_wanted, memory_order_relaxed);
}

void sl_torch_ops_enable(int on)
{
    atomic_store(&ops.is_wanted, on);
    follow();
}

void sl_torch_ops_stop(void)
{
    atomic_store(&ops.is_stopped, 1);
}
