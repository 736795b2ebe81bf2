/*
 * et.c - recompresses a Chakra execution trace, cut after its last complete message.
 *
 * The file is read twice: to find that message, and to copy.
 *
 * Threads: main. Memory: see et_file.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "convert/output.h"
#include "convert/request.h"
#include "print/format.h"
#include "print/progress.h"
#include "read/et_file.h"

#define COPY_BYTES (64u << 10)

struct whole {
    uint64_t nodes, bytes;
    enum sl_et_end end;
    struct sl_input_status input;
};

/* Returns 0, or an exit status after a line on stderr. */
static int measure(const struct sl_convert_request *r, struct whole *out)
{
    struct sl_progress progress;
    struct sl_et_node node;
    struct sl_et *et;
    char line[512];

    if (sl_et_open(&et, r->input, line, sizeof(line)) != 0)
        return sl_args_complain(r->command, "%s", line);
    sl_progress_begin(&progress, "reading", r->input);
    while (sl_et_next(et, &node)) {
        out->nodes++;
        if (!sl_progress_is_due(&progress))
            continue;
        sl_input_get_status(et->input, &out->input);
        sl_progress_step(&progress, out->input.read_bytes, out->input.file_bytes);
    }
    sl_progress_end(&progress);
    out->bytes = et->state.position;
    out->end = et->state.end;
    sl_input_get_status(et->input, &out->input);
    sl_et_close(et);
    return 0;
}

/* Returns 0 or -errno of the output. */
static int copy(struct sl_input *in, struct sl_sink *sink, uint64_t left)
{
    static char block[COPY_BYTES];
    int rc = 0;

    while (left && rc == 0) {
        size_t n = sl_input_read(in, block, left < sizeof(block) ? (size_t)left : sizeof(block));

        if (n == 0)
            return -EIO; /* the file has become shorter */
        rc = sink->write(sink, block, n);
        left -= n;
    }
    return rc;
}

static int tell(const struct sl_convert_request *r, const struct whole *w)
{
    char nodes[SL_FORMAT_SIZE];

    if (w->end == SL_ET_WHOLE && w->input.end == SL_INPUT_WHOLE)
        return SL_EXIT_OK;
    return sl_args_problem(r->command,
                           "%s is truncated or damaged: %s, at byte %" PRIu64
                           "; kept: the %s nodes before it",
                           r->input,
                           w->input.what[0]          ? w->input.what
                           : w->end == SL_ET_DAMAGED ? "the rest cannot be read"
                                                     : "it ends inside a node",
                           w->bytes, sl_format_count(nodes, w->nodes));
}

int sl_convert_et(const struct sl_convert_request *r)
{
    struct whole whole = {0};
    struct sl_output out;
    struct sl_input *in;
    char line[512];
    int rc, status = measure(r, &whole);

    if (status)
        return status;
    if (r->has_rank || r->et)
        return sl_args_complain(r->command, "--%s is only for Kineto traces: leave it out",
                                r->has_rank ? "rank" : "et");
    if (sl_input_open(&in, r->input, line, sizeof(line)) != 0)
        return sl_args_complain(r->command, "%s", line);
    rc = sl_output_open(&out, r->output, r->compression, r->level);
    if (rc == 0) {
        rc = copy(in, out.sink, whole.bytes);
        if (rc)
            sl_output_drop(&out);
        else
            rc = sl_output_keep(&out, r->output, r->force);
    }
    sl_input_close(in);
    return rc ? sl_output_complain(r->command, r->output, rc) : tell(r, &whole);
}
