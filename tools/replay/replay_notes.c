/*
 * replay_notes.c - reports the parts of a file that were left out.
 *
 * Threads, memory: see replay.h.
 */
#include <inttypes.h>

#include "base/stats.h"
#include "read/thread_ids.h"
#include "replay/replay.h"

int sl_replay_tell(const struct sl_replay *f, const struct sl_command *command, const char *path,
                   const char *result)
{
    struct sl_trace_events_counts counts;
    int status = SL_EXIT_OK;
    uint64_t written;

    sl_trace_events_get_counts(f->events, &counts);
    if (f->last.kind != SL_SPAN_END || f->input.end != SL_INPUT_WHOLE)
        status = sl_args_problem(command,
                                 "%s is not whole: %s, at byte %" PRIu64
                                 " of the text; %s those of what comes before",
                                 path,
                                 f->input.what[0]              ? f->input.what
                                 : f->last.kind == SL_SPAN_BAD ? f->last.why
                                                               : "the text ends too early",
                                 f->last.offset, result);
    counts.unusable += f->unusable;
    if (f->invalid || f->too_long || counts.unusable)
        status = sl_args_problem(command,
                                 "%s: not looked at: %" PRIu64 " rows that are not valid JSON, "
                                 "%" PRIu64 " too long, %" PRIu64
                                 " without usable ids or times: `syncline check` shows more",
                                 path, f->invalid, f->too_long, counts.unusable);
    written = f->header.has_edges ? sl_header_counter(&f->header, sl_stats_name(SL_STAT_EDGES)) : 0;
    if (f->edge_rows < written)
        status = sl_args_problem(command,
                                 "%s: %" PRIu64 " rows of edges are missing of the %" PRIu64
                                 " that the job wrote: the file was changed since",
                                 path, written - f->edge_rows, written);
    if (counts.of_others)
        status =
            sl_args_problem(command,
                            "%s: %" PRIu64 " calls are of another process than the first: ids and "
                            "GPUs of several processes cannot be told apart, and %s not to be "
                            "trusted; give the file of each process",
                            path, counts.of_others, result);
    else if (counts.strange)
        status = sl_args_problem(
            command,
            "%s: %" PRIu64 " calls have the id of another call, as when the files of "
            "several processes are joined: %s not to be trusted; give the file of "
            "each process",
            path, counts.strange, result);
    if (counts.threads_lost)
        status = sl_args_problem(command,
                                 "%s: %" PRIu64 " rows left out: of threads whose ids are not the "
                                 "system's the first %u are kept",
                                 path, counts.threads_lost, SL_THREAD_IDS_MOST);
    if (counts.steps_lost && !f->keeps_rows)
        status = sl_args_problem(command,
                                 "%s: %" PRIu64
                                 " rows of steps are more than are kept: what was in them "
                                 "counts as outside of steps",
                                 path, counts.steps_lost);
    if (counts.negative)
        status = sl_args_problem(
            command, "%s: %" PRIu64 " rows end before they begin; here they end where they begin",
            path, counts.negative);
    if (counts.calls && !counts.numbered)
        sl_args_complain(command,
                         "%s: none of its calls has a `cbid`, CUPTI's number of what was called "
                         "(ROCm has none): which of them waited is not known",
                         path);
    if (f->names.missing)
        sl_args_complain(command, "%s: %" PRIu64 " names of edges %s", path, f->names.missing,
                         f->can_read_again
                             ? "have no row in it: they are unknown here"
                             : "come behind their edges and are unknown here: the rows are not in "
                               "the order in which they were written, and a pipe cannot be read "
                               "twice; name the file");
    if (counts.names_lost)
        sl_args_complain(command,
                         "%s: %" PRIu64 " rows have more text in their names than is "
                         "kept; those names are unknown here",
                         path, counts.names_lost);
    return status;
}
