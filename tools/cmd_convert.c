/*
 * cmd_convert.c - `syncline convert`: a trace in another form.
 *
 * Here are the options; convert/ does the work, a file a kind of form. The output appears under its
 * name only when it is complete.
 *
 * Threads: main. Memory: none.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "convert/request.h"

enum {
    OPT_TO,
    OPT_OUTPUT,
    OPT_LEVEL,
    OPT_RANK,
    OPT_ET,
    OPT_FORCE,
    OPT_HELP
};

static const struct sl_flag options[] = {
    [OPT_TO] = {"to", 't', "FORMAT", "kineto (plain JSON), kineto-gz, kineto-zst or chakra"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "output file, which appears when it is complete; folders are created"},
    [OPT_LEVEL] = {"level", 'l', "N",
                   "compression level: gzip 1 to 9 (default 6), zstd 1 to 19 (default 3)"},
    [OPT_RANK] = {"rank", 'r', "N", "chakra: the rank to write (default: the trace's own)"},
    [OPT_ET] = {"et", 'e', "FILE", "chakra: PyTorch's execution trace of the same run"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace the output file if it exists"},
    [OPT_HELP] = {"help", 'h', NULL, "this text"},
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

/* 0 or -EINVAL after a line on stderr. `level` NULL: the format's own. */
static int set_level(struct sl_convert_request *r, const struct format *f, const char *level)
{
    char *end;
    long value;

    r->level = f->level;
    if (!level)
        return 0;
    value = strtol(level, &end, 10);
    if (f->level_max == 0)
        sl_args_complain(r->command, "--level applies to compressed output only: leave it out");
    else if (!isdigit((unsigned char)level[0]) || *end || value < 1 || value > f->level_max)
        sl_args_complain(r->command, "--level %s: %s%s takes 1 to %d", level, f->name,
                         f->end ? f->end : "", f->level_max);
    else {
        r->level = (int)value;
        return 0;
    }
    return -EINVAL;
}

/* The same. */
static int set_rank(struct sl_convert_request *r, const char *rank)
{
    char *end;
    long value;

    if (!rank)
        return 0;
    value = strtol(rank, &end, 10);
    if (!isdigit((unsigned char)rank[0]) || *end || value > INT32_MAX) {
        sl_args_complain(r->command, "--rank %s: name a number from 0", rank);
        return -EINVAL;
    }
    r->has_rank = 1;
    r->rank = (int32_t)value;
    return 0;
}

/* The form and what is only for one of them. The same. */
static int choose(struct sl_convert_request *r, const char *name, const char *level,
                  const char *rank, const struct format **out)
{
    const struct format *f = find_format(r, name);

    if (!f || set_level(r, f, level) != 0 || set_rank(r, rank) != 0)
        return -EINVAL;
    if (f->convert != sl_convert_chakra && (rank || r->et)) {
        sl_args_complain(r->command, "--%s is for --to chakra: leave it out", rank ? "rank" : "et");
        return -EINVAL;
    }
    r->compression = f->compression;
    *out = f;
    return 0;
}

/* Fills the request. 0, SL_EXIT_USAGE after a line on stderr, or -1: help was printed. */
static int parse(struct sl_convert_request *r, int argc, char **argv, const struct format **out)
{
    const char *format = NULL, *level = NULL, *rank = NULL;
    struct sl_args args;
    int option;

    sl_args_begin(&args, r->command, argc, argv);
    while ((option = sl_args_next(&args)) != SL_ARGS_END) {
        switch (option) {
        case OPT_TO:
            format = args.value;
            break;
        case OPT_OUTPUT:
            r->output = args.value;
            break;
        case OPT_LEVEL:
            level = args.value;
            break;
        case OPT_RANK:
            rank = args.value;
            break;
        case OPT_ET:
            r->et = args.value;
            break;
        case OPT_FORCE:
            r->force = 1;
            break;
        case OPT_HELP:
            sl_args_print_help(r->command, stdout);
            return -1;
        case SL_ARGS_OPERAND:
            if (sl_args_take_file(&args, &r->input))
                return SL_EXIT_USAGE;
            break;
        default:
            return SL_EXIT_USAGE;
        }
    }
    if (!r->input || !format || !r->output || !r->output[0]) {
        sl_args_complain(r->command, "%s is missing: syncline %s",
                         !r->input ? "FILE"
                         : !format ? "--to"
                                   : "-o",
                         r->command->usage);
        return SL_EXIT_USAGE;
    }
    return choose(r, format, level, rank, out) == 0 ? 0 : SL_EXIT_USAGE;
}

static int run(const struct sl_command *self, int argc, char **argv)
{
    struct sl_convert_request r = {.command = self};
    const struct format *format = NULL;
    int status = parse(&r, argc, argv, &format);

    if (status)
        return status < 0 ? SL_EXIT_OK : status;
    /* A limit on file sizes is reported like a full disk, not by a signal. */
    signal(SIGXFSZ, SIG_IGN);
    return format->convert(&r);
}

const struct sl_command sl_cmd_convert = {
    .name = "convert",
    .summary = "recompress a trace, complete a .part file, or make a Chakra execution trace",
    .usage = "convert FILE --to FORMAT -o FILE [options]",
    .about =
        "Writes the trace in FILE (plain, gzip or zstd; - is standard input) in another form.\n"
        "\n"
        "kineto, kineto-gz, kineto-zst:\n"
        "  another compression. The JSON text stays the same, byte for byte. HTA and Perfetto read "
        "kineto\n"
        "  and kineto-gz, not kineto-zst. A trace that is truncated or damaged (the .part of a job "
        "that\n"
        "  was killed, an interrupted copy) is completed after its last whole event, so the output "
        "is a\n"
        "  valid trace. What was lost is reported on standard error.\n"
        "\n"
        "chakra:\n"
        "  an execution trace of MLCommons Chakra, with every sync edge, from a trace of syncline "
        "or\n"
        "  torch.profiler. One file is one rank: name it PREFIX.RANK.et. A name that ends in .gz "
        "or .zst\n"
        "  is compressed; ASTRA-sim reads only raw files. With --et, operators get the inputs, "
        "outputs\n"
        "  and attributes that PyTorch's ExecutionTraceObserver wrote. Process groups are added "
        "to\n"
        "  PREFIX.comm_groups.json beside the output. If FILE is an execution trace itself, it is\n"
        "  completed in the same way, or compressed.\n"
        "\n"
        "Memory stays below 500 MiB; what does not fit is sorted in temporary files (TMPDIR, else "
        "/tmp).",
    .after = "Exit status:\n"
             "  0  the output is the whole trace\n"
             "  1  the output is valid but not all of it: the input is broken, was changed by "
             "another program,\n"
             "     has events whose ids or times make no sense, or does not fit --et\n"
             "  2  nothing was written: the input cannot be read, the output cannot be written, or "
             "wrong usage\n"
             "\n"
             "Examples:\n"
             "  syncline convert 1.pt.trace.json.zst --to kineto-gz -o trace.json.gz\n"
             "  syncline convert 1.pt.trace.json.zst.part --to kineto -o rescued.json\n"
             "  syncline convert trace.json.gz --to chakra -o job.0.et\n"
             "  zcat trace.json.gz | syncline convert - --to kineto-zst -o trace.json.zst\n",
    .options = options,
    .run = run,
};
