/*
 * replay_notes.c - what of a file was not looked at, in words.
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
    if (f->last.kind != SL_SPAN_END || f->input.end != SL_INPUT_WHOLE) {
        sl_args_complain(command,
                         "%s is not whole: %s, at byte %" PRIu64
                         " of the text; %s those of what comes before",
                         path,
                         f->input.what[0]              ? f->input.what
                         : f->last.kind == SL_SPAN_BAD ? f->last.why
                                                       : "the text ends too early",
                         f->last.offset, result);
        status = SL_EXIT_PROBLEM;
    }
    counts.unusable += f->unusable;
    if (f->invalid || f->too_long || counts.unusable) {
        sl_args_complain(command,
                         "%s: not looked at: %" PRIu64 " rows that are not valid JSON, "
                         "%" PRIu64 " too long, %" PRIu64
                         " without usable ids or times: `syncline check` shows more",
                         path, f->invalid, f->too_long, counts.unusable);
        status = SL_EXIT_PROBLEM;
    }
    written = f->header.has_edges ? sl_header_counter(&f->header, sl_stats_name(SL_STAT_EDGES)) : 0;
    if (f->edge_rows < written) {
        sl_args_complain(command,
                         "%s: %" PRIu64 " rows of edges are missing of the %" PRIu64
                         " that the job wrote: the file was changed since",
                         path, written - f->edge_rows, written);
        status = SL_EXIT_PROBLEM;
    }
    if (counts.of_others) {
        sl_args_complain(command,
                         "%s: %" PRIu64 " calls are of another process than the first: ids and "
                         "GPUs of several processes cannot be told apart, and %s not to be "
                         "trusted; give the file of each process",
                         path, counts.of_others, result);
        status = SL_EXIT_PROBLEM;
    } else if (counts.strange) {
        sl_args_complain(command,
                         "%s: %" PRIu64 " calls have the id of another call, as when the files of "
                         "several processes are joined: %s not to be trusted; give the file of "
                         "each process",
                         path, counts.strange, result);
        status = SL_EXIT_PROBLEM;
    }
    if (counts.threads_lost) {
        sl_args_complain(command,
                         "%s: %" PRIu64 " rows left out: of threads whose ids are not the "
                         "system's the first %u are kept",
                         path, counts.threads_lost, SL_THREAD_IDS_MOST);
        status = SL_EXIT_PROBLEM;
    }
    if (counts.steps_lost && !f->keeps_rows) {
        sl_args_complain(command,
                         "%s: %" PRIu64 " rows of steps are more than are kept: what was in them "
                         "counts as outside of steps",
                         path, counts.steps_lost);
        status = SL_EXIT_PROBLEM;
    }
    if (counts.negative) {
        sl_args_complain(
            command, "%s: %" PRIu64 " rows end before they begin; here they end where they begin",
            path, counts.negative);
        status = SL_EXIT_PROBLEM;
    }
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
