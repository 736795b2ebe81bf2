/*
 * cmd_convert.c - `syncline convert`: writes a trace in another format.
 *
 * This file handles the options; convert/ has one file per kind of format. The output file gets its
 * final name only when it is complete.
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
                    "output file, which appears when it is complete; folders are created"},
    [OPT_LEVEL] = {"level", 'l', "N",
                   "compression level: gzip 1 to 9 (default 6), zstd 1 to 19 (default 3)"},
    [OPT_RANK] = {"rank", 'r', "N", "chakra: the rank to write (default: the trace's own)"},
    [OPT_ET] = {"et", 'e', "FILE", "chakra: PyTorch's execution trace of the same run"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace the output file if it exists"},
    {NULL, 0, NULL, NULL},
};

struct format {
    const char *name;
    enum sl_compression compression;
    int level, level_max;
    int (*convert)(const struct sl_convert_request *r);
    const char *end; /* for Chakra, the suffix of the output's name; NULL for other formats */
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

/* Finds the last format in the table that has this name and fits the suffix of the output's
 * name. */
static const struct format *find_format(const struct sl_convert_request *r, const char *name)
{
    const struct format *found = NULL;
    const char *names[FORMAT_COUNT];

    for (int i = 0; i < FORMAT_COUNT; i++) {
        names[i] = formats[i].name;
        if (strcmp(name, formats[i].name) == 0 &&
            (!formats[i].end || ends_with(r->output, formats[i].end)))
            found = &formats[i];
    }
    if (!found)
        sl_args_unknown(r->command, "format", name, names, FORMAT_COUNT,
                        "choose kineto, kineto-gz, kineto-zst or chakra");
    return found;
}

/* Sets the compression level. Returns 0, or the exit status after a line on stderr. If `level` is
 * NULL, the format's default level is used. */
static int set_level(struct sl_convert_request *r, const struct format *f, const char *level)
{
    uint64_t value;

    r->level = f->level;
    if (!level)
        return 0;
    if (f->level_max == 0)
        return sl_args_complain(r->command,
                                "--level applies to compressed output only: leave it out");
    if (sl_args_number(level, (uint64_t)f->level_max, &value) != 0 || value < 1)
        return sl_args_complain(r->command, "--level %s is not valid: %s%s takes 1 to %d", level,
                                f->name, f->end ? f->end : "", f->level_max);
    r->level = (int)value;
    return 0;
}

/* Returns 0, or the exit status after a line on stderr. */
static int set_rank(struct sl_convert_request *r, const char *rank)
{
    uint64_t value;

    if (!rank)
        return 0;
    if (sl_args_number(rank, INT32_MAX, &value) != 0)
        return sl_args_complain(r->command, "--rank %s is not valid: give a number, 0 or more",
                                rank);
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
        return sl_args_complain(r.command, "--%s is only for --to chakra: leave it out",
                                value[OPT_RANK] ? "rank" : "et");
    r.compression = f->compression;
    /* If the output exceeds the limit on file sizes (RLIMIT_FSIZE), the write fails with an error,
     * as on a full disk. Without this call a signal would end the process. */
    signal(SIGXFSZ, SIG_IGN);
    return f->convert(&r);
}

const struct sl_command sl_cmd_convert = {
    .name = "convert",
    .summary = "recompress a trace, complete a .part file, or make a Chakra execution trace",
    .usage = "convert FILE --to FORMAT -o FILE [options]",
    .help = sl_help_convert,
    .options = options,
    .operands_max = 1,
    .run = run,
};
