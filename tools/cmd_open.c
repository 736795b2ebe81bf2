/*
 * cmd_open.c - `syncline open`: serves a trace to Perfetto's page in a browser.
 *
 * Threads: main only. Memory: open/server.h.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "open/body.h"
#include "open/server.h"
#include "print/format.h"
#include "read/et_file.h"
#include "read/job_files.h"

/* Perfetto's page may connect to no other port (its Content-Security-Policy). */
#define PERFETTO_PORT 9001

enum {
    OPT_PORT,
    OPT_RANK,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_PORT] = {"port", 0, "N", "the port on this machine (default 9001; 0: any that is free)"},
    [OPT_RANK] = {"rank", 0, "R", "in a folder: the rank (default: the lowest)"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

/* Returns the last file of the rank, or of the lowest rank if `rank` is negative. Returns NULL if
 * there is none. A file without a rank is of rank 0. */
static const char *choose(const struct sl_job_files *files, int64_t rank)
{
    const char *chosen = NULL;
    int64_t lowest = INT64_MAX;

    for (size_t i = 0; i < files->count; i++) {
        int64_t of = sl_job_files_rank(files->path[i]);

        of = of < 0 ? 0 : of;
        if (rank >= 0 ? of == rank : of <= lowest) {
            lowest = of;
            chosen = files->path[i];
        }
    }
    return chosen;
}

/* Makes the name in the address from the last part of the path. */
static void make_name(char *name, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    size_t length = strlen(from);

    for (int i = 0; i < 2; i++) {
        static const char *const ends[] = {".part", ".zst", ".gz"};

        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
            if (length > strlen(ends[k]) &&
                strncmp(from + length - strlen(ends[k]), ends[k], strlen(ends[k])) == 0)
                length -= strlen(ends[k]);
    }
    snprintf(name, size, "%.*s.gz", (int)length, from);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '_';
}

static int serve(const struct sl_command *self, const char *path, uint16_t port)
{
    char name[300], why[256], host[256] = "HOST", size[SL_FORMAT_SIZE];
    struct sl_open_file file = {.path = path, .name = name};
    struct sl_open_body *body;
    int fd, rc;

    if (sl_et_is_file(path))
        return sl_args_complain(self,
                                "%s is an execution trace, which Perfetto does not read: "
                                "give the Kineto trace beside it (.pt.trace.json)",
                                path);
    if (sl_open_body_open(&body, path, why, sizeof(why)) != 0)
        return sl_args_complain(self, "%s", why);
    sl_open_body_close(body);
    make_name(name, sizeof(name), path);
    fd = sl_open_listen(&port);
    if (fd == -EADDRINUSE)
        return sl_args_complain(self,
                                "port %u is taken, perhaps by another `syncline open`: end "
                                "it, or choose another port with --port",
                                port);
    if (fd < 0)
        return sl_args_complain(self, "cannot listen on port %u: %s", port, strerror(-fd));
    gethostname(host, sizeof(host) - 1);
    printf("serving %s until it was fetched once; Ctrl-C ends it\n"
           "  open:                        "
           "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:%d/%s\n"
           "  %s ssh -L %d:127.0.0.1:%u %s\n",
           path, PERFETTO_PORT, name,
           port == PERFETTO_PORT ? "first, on another machine:  " : "first, where the browser is:",
           PERFETTO_PORT, port, host);
    fflush(stdout);
    rc = sl_open_serve(fd, &file);
    if (rc)
        return sl_args_complain(self, "%s", strerror(-rc));
    printf("fetched: %s\n", sl_format_bytes(size, file.sent_bytes));
    if (file.trouble[0])
        return sl_args_problem(self, "only a part of %s was served: %s", path, file.trouble);
    return SL_EXIT_OK;
}

static int run(const struct sl_args *args)
{
    const char *const *value = args->value;
    uint64_t port = PERFETTO_PORT, rank = 0;
    struct sl_job_files files;
    const char *path;
    int status;

    if (args->operands == 0)
        return sl_args_complain(args->command, "PATH is missing: syncline %s",
                                args->command->usage);
    if (value[OPT_PORT] && sl_args_number(value[OPT_PORT], UINT16_MAX, &port) != 0)
        return sl_args_complain(args->command, "--port %s is not valid: give a number up to %d",
                                value[OPT_PORT], UINT16_MAX);
    if (value[OPT_RANK] && sl_args_number(value[OPT_RANK], INT64_MAX, &rank) != 0)
        return sl_args_complain(args->command, "--rank %s is not valid: give a number",
                                value[OPT_RANK]);
    if (strcmp(args->operand[0], "-") == 0)
        return sl_args_complain(args->command, "standard input cannot be served: give a file");
    status = sl_job_files_find(&files, args, value[OPT_RUN], 0);
    if (status && !files.count)
        return status;
    path = files.count == 1 && !value[OPT_RANK]
               ? files.path[0]
               : choose(&files, value[OPT_RANK] ? (int64_t)rank : -1);
    status = path ? serve(args->command, path, (uint16_t)port)
                  : sl_args_complain(args->command, "no file is of rank %" PRIu64, rank);
    sl_job_files_free(&files);
    return status;
}

const struct sl_command sl_cmd_open = {
    .name = "open",
    .summary = "show a trace in Perfetto, in the browser of this or another machine",
    .usage = "open PATH [options]",
    .help = sl_help_open,
    .options = options,
    .operands_max = 1,
    .run = run,
};
