/*
 * outputs.c - passes events and edges to each output of a job, and handles outputs that fail.
 *
 * Threads, memory: see outputs.h.
 */
#include "write/outputs.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"

#define SECOND_NS        1000000000ull
#define SAY_NS           SECOND_NS
#define DISK_NS          (SECOND_NS / 2)
#define BACKOFF_LEAST_NS (60 * SECOND_NS)
#define BACKOFF_MOST_NS  (600 * SECOND_NS)

void sl_outputs_add(struct sl_outputs *o, const struct sl_output *output)
{
    if (o->count < SL_OUTPUTS_MAX)
        o->entry[o->count++].output = *output;
}

void sl_outputs_destroy(struct sl_outputs *o)
{
    while (o->count) {
        const struct sl_output *output = &o->entry[--o->count].output;

        output->functions->destroy(output->user);
    }
}

/* ---- failures ---- */

static int is_said(const struct sl_outputs *o, int error)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->entry[i].is_said && o->entry[i].error == error)
            return 1;
    return 0;
}

/* Only the first failure of a series is logged. */
static void say(struct sl_outputs *o, struct sl_outputs_entry *e)
{
    const struct sl_output_functions *f = e->output.functions;
    const char *remedy = "check the folder, or set SYNCLINE_OUTPUT to another";
    const char *when = "syncline tries again in a minute or later, and logs when it succeeds";
    char text[128];
    const char *why = strerror_r(-e->error, text, sizeof(text));

    e->is_unsaid = 0;
    if (o->failed > 1 || (e != o->entry && is_said(o, e->error)))
        return;
    e->is_said = 1;
    if (e->error == -ENOSPC || e->error == -EDQUOT)
        remedy = "free some space, or set SYNCLINE_OUTPUT to a folder on another disk";
    else if (e->error == -EACCES || e->error == -EROFS)
        remedy = "set SYNCLINE_OUTPUT to a folder that this user can write to";
    if (e->error == -EPERM) {
        why = "this folder, or the job's folder in SYNCLINE_OUTPUT, belongs to another user";
        remedy = "set SYNCLINE_OUTPUT to a folder that this user can write to, or SYNCLINE_JOB to "
                 "another name";
    }
    if (e->error == -ENOENT && !o->failed) {
        when = "the next window is written to a new folder";
        remedy = "remove folders of traces only when their job has ended";
    }
    if (e->error == -ELOOP) {
        why = "the job's folder is a symbolic link, and no link below SYNCLINE_OUTPUT is followed";
        remedy = "remove the symbolic link, or set SYNCLINE_OUTPUT to the folder that it points to";
    }
    sl_log(
        SL_LOG_ERROR,
        "cannot write %s: %s; the rest of window %u%s is lost%s; the job is not affected; %s; %s%s",
        e->file.path, why, o->window, f->lost,
        sl_window_file_has_part(&e->file) ? " (the .part file keeps what was written)" : "", when,
        remedy, f->remedy);
}

/* Stores that the host has closed or replaced a file of this window, and logs this. */
static void lose_window(struct sl_outputs *o, const struct sl_outputs_entry *e)
{
    sl_log_once(&o->is_loss_said, SL_LOG_ERROR,
                "the program closed or replaced the descriptor of a trace file of window %u in %s "
                "(closefrom() and loops over all descriptors do); the rest of that trace is lost, "
                "the program's files are not affected, and the next window is recorded; close "
                "descriptors before CUDA starts, or only those that the program opened",
                o->window, e->output.file.folder->path);
}

/* Called when `window` will have no trace. From renew_ns on, the recorder may try another window.
 */
static void give_up_window(struct sl_outputs *o, uint64_t renew_ns)
{
    sl_stats_add(SL_STAT_WINDOWS_FAILED, 1);
    atomic_store_explicit(&o->renew_ns, renew_ns, memory_order_relaxed);
    /* Release pairs with the acquire in sl_outputs_lost_window(). */
    atomic_store_explicit(&o->lost_window, o->window, memory_order_release);
}

uint32_t sl_outputs_lost_window(const struct sl_outputs *o, uint64_t *renew_ns)
{
    uint32_t window = atomic_load_explicit(&o->lost_window, memory_order_acquire);

    *renew_ns = atomic_load_explicit(&o->renew_ns, memory_order_relaxed);
    return window;
}

/* If several outputs of one window fail, this counts as one failure. */
static void prolong_series(struct sl_outputs *o)
{
    if (o->failed && o->failed_window == o->window)
        return;
    o->failed_window = o->window;
    o->failed++;
    o->backoff_ns = o->backoff_ns ? 2 * o->backoff_ns : BACKOFF_LEAST_NS;
    if (o->backoff_ns > BACKOFF_MOST_NS)
        o->backoff_ns = BACKOFF_MOST_NS;
    o->retry_ns = sl_clock_monotonic() + o->backoff_ns;
}

static void end_series(struct sl_outputs *o, const char *path)
{
    if (!o->failed || o->failed_window == o->window)
        return;
    sl_log(SL_LOG_WARN, "traces are written again: %s is complete, after %llu windows were lost",
           path, (unsigned long long)o->failed);
    o->failed = o->backoff_ns = o->retry_ns = 0;
}

static void note(struct sl_outputs *o, struct sl_outputs_entry *e, int was_open, int error)
{
    e->error = error;
    e->is_said = 0;
    if (error == -EBADF) {
        lose_window(o, e);
        give_up_window(o, 0);
        return;
    }
    if (error == -EXDEV) { /* the next check of the root folder ends the recording */
        o->disk_due_ns = 0;
        give_up_window(o, 0);
        return;
    }
    /* If somebody removed an open file, the disk works. The next window makes the folder again. */
    if (error != -ENOMEM && !(error == -ENOENT && was_open))
        prolong_series(o);
    e->is_unsaid = 1;
    e->error_ns = sl_clock_monotonic();
    if (e != o->entry)
        return;
    say(o, e);
    give_up_window(o, o->retry_ns);
}

/* If a call of an output has failed, ends the window for this output. The other outputs
 * continue. */
static void check(struct sl_outputs *o, struct sl_outputs_entry *e, int error)
{
    int was_open = e->is_open;

    if (!error)
        return;
    e->is_open = 0;
    e->output.functions->fail(e->output.user);
    sl_window_file_close(&e->file, 0);
    note(o, e, was_open, error);
}

/* Logs errors that are a second old. Returns the time in ns until the next error must be logged. */
static uint64_t say_old(struct sl_outputs *o)
{
    uint64_t due = UINT64_MAX;

    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++) {
        uint64_t age = e->is_unsaid ? sl_clock_monotonic() - e->error_ns : 0;

        if (!e->is_unsaid)
            continue;
        if (age >= SAY_NS)
            say(o, e);
        else if (SAY_NS - age < due)
            due = SAY_NS - age;
    }
    return due;
}

/* ---- the disk's limit, and the root folder ---- */

/* After a chroot, the path of the folder leads to another place, so the open window ends and is the
 * last one. The descriptor of the folder reaches outside of the new root, so it is closed as soon
 * as the last files have their names. */
static int check_root(struct sl_outputs *o)
{
    if (!o->folder || !sl_folder_has_left(o->folder))
        return 0;
    o->is_full = 1;
    if (!sl_outputs_is_open(o)) {
        sl_folder_close(o->folder);
        /* Release pairs with the acquire in sl_outputs_is_shut(), so the last files are complete.
         */
        atomic_store_explicit(&o->is_shut, 1, memory_order_release);
    }
    return 1;
}

static void check_disk(struct sl_outputs *o)
{
    uint64_t now = sl_clock_monotonic(), bytes = 0, held = 0;

    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++)
        if (e->is_open && e->output.functions->held_bytes)
            held += e->output.functions->held_bytes(e->output.user);
    if (now < o->disk_due_ns && !sl_disk_is_due(o->disk, held))
        return;
    o->disk_due_ns = now + DISK_NS;
    if (check_root(o) || !o->disk)
        return;
    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++)
        bytes += sl_window_file_bytes(&e->file);
    o->is_full = sl_disk_check(o->disk, bytes, held) != 0;
    if (o->is_full && sl_disk_keeps_all(o->disk))
        atomic_store_explicit(&o->full_window, o->window, memory_order_relaxed);
}

int sl_outputs_is_full(const struct sl_outputs *o)
{
    return o->is_full;
}

uint32_t sl_outputs_full_window(const struct sl_outputs *o)
{
    return atomic_load_explicit(&o->full_window, memory_order_relaxed);
}

int sl_outputs_is_shut(const struct sl_outputs *o)
{
    return atomic_load_explicit(&o->is_shut, memory_order_acquire);
}

/* ---- what comes ---- */

void sl_outputs_open(struct sl_outputs *o, const struct sl_trace_meta *meta, int is_requested)
{
    o->window = meta->window;
    o->disk_due_ns = 0;
    for (size_t i = 0; i < o->count; i++)
        o->entry[i].error = o->entry[i].is_said = 0;
    check_disk(o);
    if (o->is_full || (!is_requested && o->failed && sl_clock_monotonic() < o->retry_ns)) {
        o->failed += o->failed != 0;
        give_up_window(o, o->retry_ns);
        return;
    }
    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++) {
        const struct sl_output *output = &e->output;
        int has_file = output->file.folder != NULL;
        int error = has_file ? sl_window_file_open(&e->file, &output->file, meta) : 0;

        e->is_open = error == 0;
        if (!error)
            error = output->functions->open(output->user, meta, has_file ? &e->file : NULL);
        check(o, e, error);
    }
}

void sl_outputs_events(struct sl_outputs *o, const struct sl_event *ev, size_t count)
{
    for (struct sl_outputs_entry *e = o->entry; count && e < o->entry + o->count; e++) {
        check(o, e, e->output.functions->events(e->output.user, ev, count));
        sl_window_file_touch(&e->file);
    }
}

void sl_outputs_edges(struct sl_outputs *o, const struct sl_output_edges *edges)
{
    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++)
        if (e->is_open)
            check(o, e, e->output.functions->edges(e->output.user, edges));
}

void sl_outputs_complete(struct sl_outputs *o, const struct sl_output_progress *progress)
{
    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++) {
        if (e->is_open)
            check(o, e, e->output.functions->complete(e->output.user, progress));
        sl_window_file_touch(&e->file);
    }
}

uint64_t sl_outputs_sync(struct sl_outputs *o)
{
    uint64_t due = say_old(o);

    check_disk(o);
    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++) {
        uint64_t its;

        if (sl_window_file_is_due(&e->file, &its))
            check(o, e, e->output.functions->sync(e->output.user));
        due = its < due ? its : due;
    }
    return due;
}

const char *sl_outputs_close(struct sl_outputs *o, uint64_t closed_ns)
{
    const char *path = NULL;

    for (size_t i = o->count; i-- > 0;) {
        struct sl_outputs_entry *e = &o->entry[i];

        if (!e->is_open)
            continue;
        check(o, e, e->output.functions->close(e->output.user, closed_ns));
        if (!e->is_open || !e->output.file.folder)
            continue;
        sl_log(SL_LOG_DEBUG, "wrote %s", e->file.path);
        if (i == 0)
            end_series(o, e->file.path);
        path = i == 0 ? e->file.path : NULL;
        e->is_open = 0;
    }
    for (struct sl_outputs_entry *e = o->entry; e < o->entry + o->count; e++)
        if (e->is_unsaid)
            say(o, e);
    return path;
}

int sl_outputs_is_first_open(const struct sl_outputs *o)
{
    return o->entry[0].is_open;
}

int sl_outputs_is_open(const struct sl_outputs *o)
{
    int open = 0;

    for (size_t i = 0; i < o->count; i++)
        open |= o->entry[i].is_open;
    return open;
}

int sl_outputs_wants_begins(const struct sl_outputs *o)
{
    int wants = 0;

    for (size_t i = 0; i < o->count; i++)
        wants |= o->entry[i].output.functions->wants_begins;
    return wants;
}
