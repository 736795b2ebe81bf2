/*
 * cmd_convert.c - `syncline convert`: the same trace in another compression, closed properly.
 *
 * The text goes through byte for byte; a trace that was cut is closed after its last whole event.
 * The output appears under its name only when it is complete.
 *
 * Threads: main; reading has a helper thread. Memory: see trace_file.h.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "print/format.h"
#include "print/progress.h"
#include "read/trace_file.h"
#include "write/sink.h"

#define PROGRESS_EVENTS 4096
#define OUT_BYTES       (256u << 10)

enum {
    OPT_TO,
    OPT_OUTPUT,
    OPT_LEVEL,
    OPT_FORCE,
    OPT_HELP
};

static const struct sl_flag options[] = {
    [OPT_TO] = {"to", 't', "FORMAT", "kineto (plain JSON), kineto-gz or kineto-zst"},
    [OPT_OUTPUT] = {"output", 'o', "FILE", "where to write; the name appears when it is complete"},
    [OPT_LEVEL] = {"level", 'l', "N", "compression: gzip 1 to 9 (6), zstd 1 to 19 (3)"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE if it is there"},
    [OPT_HELP] = {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

struct format {
    const char *name;
    enum sl_compression compression;
    int level, level_max;
};

static const struct format formats[] = {
    {"kineto", SL_COMPRESS_NONE, 0, 0},
    {"kineto-gz", SL_COMPRESS_GZIP, 6, 9},
    {"kineto-zst", SL_COMPRESS_ZSTD, 3, 19},
};

#define FORMAT_COUNT ((int)(sizeof(formats) / sizeof(formats[0])))

struct request {
    const struct sl_command *command;
    const char *input, *output;
    const struct format *format;
    int level, force;
};

/* The output: text gathered into blocks, a sink, and the name it has until it is complete. */
struct output {
    struct sl_sink *sink;
    char *block;
    size_t fill;
    int error; /* sticky */
    char temporary[PATH_MAX];
    char part[PATH_MAX]; /* the sink's own name for it */
};

/* How much of the trace went through. */
struct outcome {
    uint64_t events;
    uint64_t invalid, invalid_at; /* events and fields that are not JSON; byte of the first */
    enum sl_span_kind inside;     /* kind of the last span written */
    int event_arrays;
    uint64_t lost_bytes; /* text after the last whole span */
    struct sl_span last;
    struct sl_input_status input;
};

static void put(struct output *o, const void *data, size_t size)
{
    if (o->error)
        return;
    if (o->fill + size > OUT_BYTES) {
        o->error = o->sink->write(o->sink, o->block, o->fill);
        o->fill = 0;
        if (!o->error && size > OUT_BYTES) {
            o->error = o->sink->write(o->sink, data, size);
            return;
        }
    }
    if (o->error)
        return;
    memcpy(o->block + o->fill, data, size);
    o->fill += size;
}

static void put_text(struct output *o, const char *text)
{
    put(o, text, strlen(text));
}

/* 0, or an exit status after a line on stderr. */
static int check_target(const struct request *r)
{
    struct stat st, source;

    if (strcmp(r->output, "-") == 0) {
        sl_args_complain(r->command, "the output must be a file, not -: a pipe cannot be taken "
                                     "back when something goes wrong");
        return SL_EXIT_USAGE;
    }
    if (lstat(r->output, &st) != 0)
        return 0;
    if (S_ISDIR(st.st_mode)) {
        sl_args_complain(r->command, "%s is a directory: name a file in it", r->output);
        return SL_EXIT_USAGE;
    }
    if (!S_ISREG(st.st_mode)) {
        sl_args_complain(r->command, "%s is not a regular file: it is left alone", r->output);
        return SL_EXIT_USAGE;
    }
    if (stat(r->input, &source) == 0 && source.st_dev == st.st_dev && source.st_ino == st.st_ino) {
        sl_args_complain(r->command, "%s is the input: choose another name", r->output);
        return SL_EXIT_USAGE;
    }
    if (!r->force) {
        sl_args_complain(r->command, "%s exists: use --force to replace it", r->output);
        return SL_EXIT_USAGE;
    }
    return 0;
}

static int open_output(const struct request *r, struct output *o)
{
    struct sl_sink *file;
    int rc;

    *o = (struct output){0};
    if (snprintf(o->temporary, sizeof(o->temporary), "%s.%ld", r->output, (long)getpid()) >=
        (int)sizeof(o->temporary))
        return -ENAMETOOLONG;
    o->block = malloc(OUT_BYTES);
    if (!o->block)
        return -ENOMEM;
    rc = sl_sink_file_open(&file, o->temporary);
    if (rc)
        goto fail_file;
    snprintf(o->part, sizeof(o->part), "%s", sl_sink_file_path(file));
    rc = sl_sink_compress_open(&o->sink, file, r->format->compression, r->level);
    if (rc)
        goto fail_compress;
    return 0;

fail_compress:
    file->close(file, 0);
    unlink(o->part);
fail_file:
    free(o->block);
    return rc;
}

/* Ends the output. `keep`: give it its name; else leave nothing behind. */
static int close_output(const struct request *r, struct output *o, int keep)
{
    int rc = o->error;

    if (!rc && keep)
        rc = o->sink->write(o->sink, o->block, o->fill);
    if (!rc && keep)
        rc = o->sink->sync(o->sink);
    keep = keep && !rc;
    if (keep) {
        rc = o->sink->close(o->sink, 1);
        if (!rc && !r->force && link(o->temporary, r->output) == 0)
            unlink(o->temporary);
        else if (!rc && !r->force && errno == EEXIST)
            rc = -EEXIST;
        else if (!rc && rename(o->temporary, r->output) != 0)
            rc = -errno;
    } else {
        o->sink->close(o->sink, 0);
    }
    if (!keep || rc) {
        unlink(o->part);
        unlink(o->temporary);
    }
    free(o->block);
    return rc;
}

/* Copies whole spans until the text ends. */
static void copy(struct sl_trace *t, struct output *o, const char *path, struct outcome *result)
{
    struct sl_progress progress;
    struct sl_trace_item item;
    char what[128];

    snprintf(what, sizeof(what), "converting %.100s", path);
    sl_progress_begin(&progress, what);
    while (sl_trace_next(t, &item) && !o->error) {
        put(o, item.span.text - item.span.lead, item.span.lead + item.span.size);
        result->inside = item.span.kind;
        result->event_arrays += item.span.kind == SL_SPAN_EVENTS_OPEN;
        if (item.status == -EBADMSG && result->invalid++ == 0)
            result->invalid_at = item.span.offset + item.error.at;
        if (item.span.kind == SL_SPAN_EVENT) {
            result->events++;
            if (result->events % PROGRESS_EVENTS == 0) {
                sl_trace_get_status(t, &result->input);
                sl_progress_step(&progress, result->input.read_bytes, result->input.file_bytes);
            }
        }
    }
    sl_progress_end(&progress);
    sl_trace_get_status(t, &result->input);
    result->last = item.span;
    result->lost_bytes = item.span.lead + item.span.size;
}

/* What follows the last whole span: the rest of a whole trace, or what closes a cut one. */
static void finish(struct output *o, struct outcome *result)
{
    const struct sl_span *last = &result->last;

    if (last->kind == SL_SPAN_END) {
        put(o, last->text - last->lead, last->lead + last->size);
        return;
    }
    if (result->inside == SL_SPAN_EVENT || result->inside == SL_SPAN_EVENTS_OPEN)
        put_text(o, "\n]");
    else if (result->event_arrays == 0)
        put_text(o, result->inside == SL_SPAN_FIELD ? ",\n\"traceEvents\": []"
                                                    : "\"traceEvents\": []");
    if (result->inside != SL_SPAN_CLOSE)
        put_text(o, "\n}\n");
}

/* 1 if there is nothing that a trace could be made of; `why` says it. */
static int hopeless(const struct outcome *result, const char **why)
{
    const struct sl_span *last = &result->last;

    if (result->input.end != SL_INPUT_WHOLE && result->input.text_bytes == 0)
        *why = result->input.what;
    else if (result->event_arrays == 0 && last->kind == SL_SPAN_END)
        *why = "it is JSON without traceEvents";
    else if (result->event_arrays == 0 && result->inside == SL_SPAN_OPEN)
        *why = last->kind == SL_SPAN_BAD ? last->why : "it ends before the first field";
    else
        return 0;
    return 1;
}

/* Says what was lost. Returns the exit status. */
static int tell(const struct request *r, const struct outcome *result)
{
    const struct sl_span *last = &result->last;
    const char *what = result->input.what[0]       ? result->input.what
                       : last->kind == SL_SPAN_BAD ? last->why
                                                   : "the text ends too early";
    char events[SL_FORMAT_SIZE];
    int status = SL_EXIT_OK;

    if (last->kind != SL_SPAN_END || result->input.end != SL_INPUT_WHOLE) {
        sl_args_complain(r->command,
                         "%s is not whole: %s, at byte %" PRIu64 " of the text. Kept: %s whole "
                         "events; lost: what followed (%" PRIu64 " bytes of an unfinished part); "
                         "%s is closed properly",
                         r->input, what, last->offset, sl_format_count(events, result->events),
                         last->kind == SL_SPAN_END ? 0 : result->lost_bytes, r->output);
        status = SL_EXIT_PROBLEM;
    }
    if (result->invalid) {
        sl_args_complain(r->command,
                         "%" PRIu64 " events or fields are not valid JSON and were copied as they "
                         "are (the first at byte %" PRIu64 "): `syncline check %s` shows more",
                         result->invalid, result->invalid_at, r->output);
        status = SL_EXIT_PROBLEM;
    }
    return status;
}

static int cannot_write(const struct request *r, int rc)
{
    sl_args_complain(r->command, "cannot write %s: %s%s; nothing is left behind", r->output,
                     strerror(-rc),
                     rc == -ENOSPC   ? ": free some space, or choose another place with -o"
                     : rc == -EACCES ? ": choose a place that you may write to"
                                     : "");
    return SL_EXIT_USAGE;
}

static int convert(const struct request *r)
{
    struct outcome result = {.inside = SL_SPAN_OPEN};
    struct sl_trace *t;
    struct output o;
    const char *why;
    char line[512];
    int rc, status = check_target(r);

    if (status)
        return status;
    if (sl_trace_open(&t, r->input, line, sizeof(line)) != 0) {
        sl_args_complain(r->command, "%s", line);
        return SL_EXIT_USAGE;
    }
    rc = open_output(r, &o);
    if (rc) {
        sl_trace_close(t);
        return cannot_write(r, rc);
    }
    copy(t, &o, r->input, &result);
    if (!o.error && hopeless(&result, &why)) {
        sl_args_complain(r->command, "%s is not a trace: %s; nothing was written", r->input, why);
        close_output(r, &o, 0);
        sl_trace_close(t);
        return SL_EXIT_USAGE;
    }
    finish(&o, &result);
    rc = close_output(r, &o, 1);
    sl_trace_close(t);
    return rc ? cannot_write(r, rc) : tell(r, &result);
}

static const struct format *find_format(const struct sl_command *self, const char *name)
{
    const char *names[FORMAT_COUNT];
    const char *nearest;

    for (int i = 0; i < FORMAT_COUNT; i++) {
        names[i] = formats[i].name;
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    }
    nearest = sl_args_nearest(name, names, FORMAT_COUNT);
    sl_args_complain(self, "no format '%s'%s%s%s: choose kineto, kineto-gz or kineto-zst", name,
                     nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return NULL;
}

/* 0 or -EINVAL after a line on stderr. `level` NULL: the format's own. */
static int set_level(struct request *r, const char *level)
{
    char *end;
    long value;

    r->level = r->format->level;
    if (!level)
        return 0;
    value = strtol(level, &end, 10);
    if (r->format->level_max == 0)
        sl_args_complain(r->command, "--level has no meaning for plain JSON: leave it out");
    else if (!isdigit((unsigned char)level[0]) || *end || value < 1 || value > r->format->level_max)
        sl_args_complain(r->command, "--level %s: %s takes 1 to %d", level, r->format->name,
                         r->format->level_max);
    else {
        r->level = (int)value;
        return 0;
    }
    return -EINVAL;
}

/* Fills the request. 0, SL_EXIT_USAGE after a line on stderr, or -1: help was printed. */
static int parse(struct request *r, int argc, char **argv)
{
    const char *format = NULL, *level = NULL;
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
        case OPT_FORCE:
            r->force = 1;
            break;
        case OPT_HELP:
            sl_args_print_help(r->command, stdout);
            return -1;
        case SL_ARGS_OPERAND:
            if (r->input) {
                sl_args_complain(r->command, "one FILE at a time: %s and %s were given", r->input,
                                 args.value);
                return SL_EXIT_USAGE;
            }
            r->input = args.value;
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
    r->format = find_format(r->command, format);
    return r->format && set_level(r, level) == 0 ? 0 : SL_EXIT_USAGE;
}

static int run(const struct sl_command *self, int argc, char **argv)
{
    struct request r = {.command = self};
    int status = parse(&r, argc, argv);

    if (status)
        return status < 0 ? SL_EXIT_OK : status;
    /* A limit on file sizes is reported like a full disk, not by a signal. */
    signal(SIGXFSZ, SIG_IGN);
    return convert(&r);
}

const struct sl_command sl_cmd_convert = {
    .name = "convert",
    .summary = "another compression; closes a trace that was cut",
    .usage = "convert FILE --to FORMAT -o FILE [options]",
    .about =
        "Writes the trace in FILE (plain, gzip or zstd; - is standard input) with another\n"
        "compression. The JSON text stays the same, byte for byte. HTA and Perfetto read kineto "
        "and\n"
        "kineto-gz, not zstd.\n"
        "\n"
        "A trace that is cut or damaged (the .part of a job that was killed, a copy that stopped\n"
        "half way) is closed after its last whole event, so that the output is a valid trace; "
        "what\n"
        "was lost is said on standard error.",
    .after =
        "Exit status:\n"
        "  0  the output is the whole trace\n"
        "  1  the output is a valid trace of what could be read of a broken one\n"
        "  2  nothing was written: the input cannot be read, the output cannot be written, or\n"
        "     wrong usage\n"
        "\n"
        "Examples:\n"
        "  syncline convert 1.pt.trace.json.zst --to kineto-gz -o trace.json.gz\n"
        "  syncline convert 1.pt.trace.json.zst.part --to kineto -o rescued.json\n"
        "  zcat trace.json.gz | syncline convert - --to kineto-zst -o trace.json.zst\n",
    .options = options,
    .run = run,
};
