/*
 * cmd_convert.c - `syncline convert`: a trace in another form.
 *
 * Here are the options; convert/ does the work, a file a kind of form. The output appears under its
 * name only when it is complete.
 *
 * Threads: main. Memory: none.
 */
#include <signal.h>
#include <string.h>

#include "command.h"
#include "convert/request.h"

enum {
    OPT_TO,
    OPT_OUTPUT,
    OPT_LEVEL,
    OPT_RANK,
    OPT_ET,
    OPT_FORCE
};

static const struct sl_flag options[] = {
    [OPT_TO] = {"to", 't', "FORMAT", "kineto (plain JSON), kineto-gz, kineto-zst or chakra"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "where to write (folders are made); it appears when complete"},
    [OPT_LEVEL] = {"level", 'l', "N", "compression: gzip 1 to 9 (6), zstd 1 to 19 (3)"},
    [OPT_RANK] = {"rank", 'r', "N", "chakra: the rank in the file (the trace's own)"},
    [OPT_ET] = {"et", 'e', "FILE", "chakra: PyTorch's execution trace of the same run"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE if it is there"},
    {NULL, 0, NULL, NULL},
};

struct format {
    const char *name;
    enum sl_compression compression;
    int level, level_max;
    int (*convert)(const struct sl_convert_request *r);
    const char *end; /* chakra: the output's name ends so */
};

static const struct format formats[] = {
    {"kineto", SL_COMPRESS_NONE, 0, 0, sl_convert_kineto, NULL},
    {"kineto-gz", SL_COMPRESS_GZIP, 6, 9, sl_convert_kineto, NULL},
    {"kineto-zst", SL_COMPRESS_ZSTD, 3, 19, sl_convert_kineto, NULL},
    {"chakra", SL_COMPRESS_NONE, 0, 0, sl_convert_chakra, NULL},
    {"chakra", SL_COMPRESS_GZIP, 6, 9, sl_convert_chakra, ".gz"},
    {"chakra", SL_COMPRESS_ZSTD, 3, 19, sl_convert_chakra, ".zst"},
};

#define FORMAT_COUNT ((int)(sizeof(formats) / sizeof(formats[0])))

static int ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* The last one fits that has the name, and the end of the output's name. */
static const struct format *find_format(const struct sl_convert_request *r, const char *name)
{
    const struct format *found = NULL;
    const char *names[FORMAT_COUNT];
    const char *nearest;

    for (int i = 0; i < FORMAT_COUNT; i++) {
        names[i] = formats[i].name;
        if (strcmp(name, formats[i].name) == 0 &&
            (!formats[i].end || ends_with(r->output, formats[i].end)))
            found = &formats[i];
    }
    if (found)
        return found;
    nearest = sl_args_nearest(name, names, FORMAT_COUNT);
    sl_args_complain(r->command,
                     "no format '%s'%s%s%s: choose kineto, kineto-gz, kineto-zst or chakra", name,
                     nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return NULL;
}

/* 0, or the exit status after a line on stderr. `level` NULL: the format's own. */
static int set_level(struct sl_convert_request *r, const struct format *f, const char *level)
{
    uint64_t value;

    r->level = f->level;
    if (!level)
        return 0;
    if (f->level_max == 0)
        return sl_args_complain(r->command,
                                "--level has no meaning for what is not compressed: leave it out");
    if (sl_args_number(level, (uint64_t)f->level_max, &value) != 0 || value < 1)
        return sl_args_complain(r->command, "--level %s: %s%s takes 1 to %d", level, f->name,
                                f->end ? f->end : "", f->level_max);
    r->level = (int)value;
    return 0;
}

/* The same. */
static int set_rank(struct sl_convert_request *r, const char *rank)
{
    uint64_t value;

    if (!rank)
        return 0;
    if (sl_args_number(rank, INT32_MAX, &value) != 0)
        return sl_args_complain(r->command, "--rank %s: name a number from 0", rank);
    r->has_rank = 1;
    r->rank = (int32_t)value;
    return 0;
}

static int run(const struct sl_args *args)
{
    const char *const *value = args->value;
    struct sl_convert_request r = {.command = args->command,
                                   .input = args->operand[0],
                                   .output = value[OPT_OUTPUT],
                                   .force = value[OPT_FORCE] != NULL,
                                   .et = value[OPT_ET]};
    const struct format *f;

    if (!r.input || !value[OPT_TO] || !r.output || !r.output[0])
        return sl_args_complain(r.command, "%s is missing: syncline %s",
                                !r.input         ? "FILE"
                                : !value[OPT_TO] ? "--to"
                                                 : "-o",
                                r.command->usage);
    f = find_format(&r, value[OPT_TO]);
    if (!f || set_level(&r, f, value[OPT_LEVEL]) != 0 || set_rank(&r, value[OPT_RANK]) != 0)
        return SL_EXIT_USAGE;
    if (f->convert != sl_convert_chakra && (value[OPT_RANK] || r.et))
        return sl_args_complain(r.command, "--%s is for --to chakra: leave it out",
                                value[OPT_RANK] ? "rank" : "et");
    r.compression = f->compression;
    /* A limit on file sizes is reported like a full disk, not by a signal. */
    signal(SIGXFSZ, SIG_IGN);
    return f->convert(&r);
}

const struct sl_command sl_cmd_convert = {
    .name = "convert",
    .summary = "another compression, or a Chakra execution trace; closes a trace that was cut",
    .usage = "convert FILE --to FORMAT -o FILE [options]",
    .about =
        "Writes the trace in FILE (plain, gzip or zstd; - is standard input) in another form.\n"
        "\n"
        "kineto, kineto-gz, kineto-zst: another compression; the JSON text stays the same, byte "
        "for\n"
        "byte. HTA and Perfetto read kineto and kineto-gz, not zstd. A trace that is cut or "
        "damaged\n"
        "(the .part of a job that was killed, a copy that stopped half way) is closed after its "
        "last\n"
        "whole event, so that the output is a valid trace; what was lost is said on standard "
        "error.\n"
        "\n"
        "chakra: an execution trace of MLCommons Chakra, one file a rank (name it PREFIX.RANK.et), "
        "of\n"
        "torch.profiler's traces or syncline's, with every synchronization edge. A name that ends "
        "in\n"
        ".gz or .zst is compressed; ASTRA-sim reads raw files alone. With --et, operators get the\n"
        "inputs, outputs and attributes that PyTorch's ExecutionTraceObserver wrote. Process "
        "groups\n"
        "are added to PREFIX.comm_groups.json beside it. Where FILE is an execution trace itself,\n"
        "it is closed in the same way, or compressed anew. Memory stays below 500 MiB; what does\n"
        "not fit is sorted in temporary files (TMPDIR, else /tmp).",
    .after =
        "Exit status:\n"
        "  0  the output is the whole trace\n"
        "  1  the input is broken, was changed, has rows without sense, or does not fit --et: the\n"
        "     output has the rest, closed properly\n"
        "  2  nothing was written: the input cannot be read, the output cannot be written, or\n"
        "     wrong usage\n"
        "\n"
        "Examples:\n"
        "  syncline convert 1.pt.trace.json.zst --to kineto-gz -o trace.json.gz\n"
        "  syncline convert 1.pt.trace.json.zst.part --to kineto -o rescued.json\n"
        "  syncline convert trace.json.gz --to chakra -o job.0.et\n"
        "  zcat trace.json.gz | syncline convert - --to kineto-zst -o trace.json.zst\n",
    .options = options,
    .operands_max = 1,
    .run = run,
};
