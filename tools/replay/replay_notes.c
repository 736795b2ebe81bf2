/*
 * replay_notes.c - reports the parts of a file that were left out.
 *
 * Threads, memory: see replay.h.
 */
#include <inttypes.h>

#include "base/stats.h"
#include "print/format.h"
#include "read/thread_ids.h"
#include "replay/replay.h"

/* Reports that the times of GPU operations do not fit those of calls. Returns the exit status. */
static int tell_clocks(const struct sl_replay *f, const struct sl_command *command,
                       const char *path)
{
    int64_t skew_ns = f->events->skew_ns;
    char what[256], span[SL_FORMAT_SIZE];

    if (!sl_clock_fit_is_apart(&f->events->clock))
        return SL_EXIT_OK;
    sl_clock_fit_text(&f->events->clock, what, sizeof(what));
    sl_format_span(span, (uint64_t)(skew_ns < 0 ? -skew_ns : skew_ns));
    if (skew_ns)
        return sl_args_problem(command,
                               "%s: the GPU times are too %s: %s. %s were %s all GPU times; no "
                               "edge is exact",
                               path, skew_ns > 0 ? "early" : "late", what, span,
                               skew_ns > 0 ? "added to" : "subtracted from");
    return sl_args_problem(command,
                           "%s: the GPU times do not fit the times of calls: %s. The difference "
                           "is not constant, so the times are left as they are; waits are wrong "
                           "by up to that much, and no edge is exact",
                           path, what);
}

int sl_replay_is_truncated(const struct sl_replay *f)
{
    return f->last.kind != SL_SPAN_END || f->input.end != SL_INPUT_WHOLE;
}

int sl_replay_tell(const struct sl_replay *f, const struct sl_command *command, const char *path,
                   const char *result)
{
    struct sl_trace_events_counts counts;
    int status = SL_EXIT_OK;
    uint64_t written;

    counts = f->events->counts;
    if (sl_replay_is_truncated(f))
        status = sl_args_problem(command,
                                 "%s is truncated or damaged: %s, at byte %" PRIu64
                                 " of the uncompressed text; %s from the part before",
                                 path,
                                 f->input.what[0]              ? f->input.what
                                 : f->last.kind == SL_SPAN_BAD ? f->last.why
                                                               : "the text ends too early",
                                 f->last.offset, result);
    counts.unusable += f->unusable;
    if (f->invalid || f->too_long || counts.unusable)
        status = sl_args_problem(command,
                                 "%s: left out: %" PRIu64 " events that are not valid JSON, "
                                 "%" PRIu64 " too long, %" PRIu64
                                 " with impossible ids or times: `syncline check` shows more",
                                 path, f->invalid, f->too_long, counts.unusable);
    written = f->header.has_edges ? sl_header_counter(&f->header, sl_stats_name(SL_STAT_EDGES)) : 0;
    if (f->edge_rows < written && !f->header.is_cut)
        status = sl_args_problem(command,
                                 "%s: %" PRIu64 " sync edges are missing of the %" PRIu64
                                 " that the job wrote: another program changed the file",
                                 path, written - f->edge_rows, written);
    if (counts.of_others)
        status = sl_args_problem(
            command,
            "%s: %" PRIu64
            " calls belong to another process than the first: ids and GPUs of several processes "
            "get mixed up, so %s unreliable; pass the file of each process separately",
            path, counts.of_others, result);
    else if (counts.strange)
        status = sl_args_problem(
            command,
            "%s: %" PRIu64
            " calls share a correlation id with another call (were files of several processes "
            "merged?), so %s unreliable; pass the file of each process separately",
            path, counts.strange, result);
    if (counts.threads_lost)
        status = sl_args_problem(
            command,
            "%s: %" PRIu64
            " events left out: the file has more than %u threads without a system thread id",
            path, counts.threads_lost, SL_THREAD_IDS_MOST);
    if (counts.steps_lost && f->keeps != SL_REPLAY_ROWS)
        status = sl_args_problem(
            command,
            "%s: %" PRIu64 " steps are past the limit: waits in them count as outside of steps",
            path, counts.steps_lost);
    if (counts.negative)
        status = sl_args_problem(
            command, "%s: %" PRIu64 " events end before they begin: their duration is taken as 0",
            path, counts.negative);
    if (tell_clocks(f, command, path) != SL_EXIT_OK)
        status = SL_EXIT_PROBLEM;
    if (!f->header.own_file && !sl_event_sort_count(f->events->by_correlation))
        status =
            sl_args_problem(command, "%s: no CUDA call and no GPU operation: it has %s%s", path,
                            f->events->others[0] ? f->events->others : "CPU events alone, or none",
                            f->events->others[0] ? ", which are not CUDA's" : "");
    if (counts.calls && !counts.numbered)
        sl_args_complain(command,
                         "%s: no call has a `cbid` (CUPTI's id of the called function; ROCm has "
                         "none): blocking calls cannot be recognised",
                         path);
    if (f->names.missing)
        sl_args_complain(command, "%s: %" PRIu64 " names in sync edges %s", path, f->names.missing,
                         f->can_read_again
                             ? "have no event in the file: they are unknown here"
                             : "come after their edges and are unknown here: the events were "
                               "reordered, and a pipe cannot be read twice; pass the file's name");
    if (counts.names_lost)
        sl_args_complain(command,
                         "%s: %" PRIu64
                         " events have names past the memory limit; those names are unknown here",
                         path, counts.names_lost);
    return status;
}
