/*
 * et.c - recompresses a Chakra execution trace, and drops an incomplete last message.
 *
 * Threads: main. Memory: see et_file.h.
 */
#include <inttypes.h>

#include "convert/output.h"
#include "convert/request.h"
#include "print/format.h"
#include "print/progress.h"
#include "read/et_file.h"

struct kept {
    uint64_t nodes;
    uint64_t first_us, last_us; /* first start and last end of the nodes */
};

static void take(struct kept *kept, const struct sl_et_node *node)
{
    uint64_t end_us = node->start_us + node->duration_us;

    if (!kept->nodes++ || node->start_us < kept->first_us)
        kept->first_us = node->start_us;
    if (end_us > kept->last_us)
        kept->last_us = end_us;
}

/* Copies whole, unchanged messages from the reader's buffer. */
static void copy(struct sl_et *et, struct sl_output *out, const char *path, struct kept *kept)
{
    uint64_t copied = 0;
    struct sl_input_status input;
    struct sl_progress progress;
    struct sl_et_node node;
    int more;

    sl_progress_begin(&progress, "reading", path);
    do {
        size_t size = (size_t)(et->state.position - copied);

        sl_output_write(out, et->text + et->used - size, size);
        copied += size;
        if (sl_progress_is_due(&progress)) {
            sl_input_get_status(et->input, &input);
            sl_progress_step(&progress, input.read_bytes, input.file_bytes);
        }
        more = !out->error && sl_et_next(et, &node);
        if (more)
            take(kept, &node);
    } while (more);
    sl_progress_end(&progress);
}

static int tell(const struct sl_convert_request *r, const struct sl_et *et, const struct kept *kept)
{
    struct sl_input_status input;
    char count[SL_FORMAT_SIZE];

    sl_input_get_status(et->input, &input);
    if (et->state.end == SL_ET_WHOLE && input.end == SL_INPUT_WHOLE)
        return SL_EXIT_OK;
    return sl_args_problem(r->command,
                           "%s is truncated or damaged: %s, at byte %" PRIu64
                           "; kept: the %s nodes before it, up to %.3f s after the first",
                           r->input,
                           input.what[0]                    ? input.what
                           : et->state.end == SL_ET_DAMAGED ? "the rest cannot be read"
                                                            : "it ends inside a node",
                           et->state.position, sl_format_count(count, kept->nodes),
                           (double)(kept->last_us - kept->first_us) / 1e6);
}

int sl_convert_et(const struct sl_convert_request *r)
{
    static struct sl_output out;
    struct kept kept = {0};
    struct sl_et *et;
    char line[512];
    int rc, status;

    if (sl_et_open(&et, r->input, line, sizeof(line)) != 0)
        return sl_args_complain(r->command, "%s", line);
    if (r->has_rank || r->et) {
        sl_et_close(et);
        return sl_args_complain(r->command, "--%s is only for Kineto traces: leave it out",
                                r->has_rank ? "rank" : "et");
    }
    rc = sl_output_open(&out, r->output, r->compression, r->level);
    if (rc == 0) {
        copy(et, &out, r->input, &kept);
        rc = sl_output_keep(&out, r->output, r->force);
    }
    status = rc ? sl_output_complain(r->command, r->output, rc) : tell(r, et, &kept);
    sl_et_close(et);
    return status;
}
