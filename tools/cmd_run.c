/*
 * cmd_run.c - `syncline run`: runs a command with the library in every process that uses CUDA.
 *
 * Sets environment variables, then calls exec. The command runs in the same process, so signals,
 * exit status and terminal are the command's own. Threads: main only. Memory: none.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "control/config.h"
#include "doctor/host.h"

#define CUDA_VARIABLE   "CUDA_INJECTION64_PATH"
#define NVTX_VARIABLE   "NVTX_INJECTION64_PATH"
#define PYTHON_VARIABLE "PYTHONPATH"
/* The exit statuses that env(1) and shells use. */
#define EXIT_NOT_FOUND    127
#define EXIT_NOT_RUNNABLE 126

enum {
    OPT_OUTPUT,
    OPT_WINDOW
};

static const struct sl_flag options[] = {
    [OPT_OUTPUT] = {"output", 'o', "FOLDER", "where traces go (SYNCLINE_OUTPUT)"},
    [OPT_WINDOW] = {"window", 'w', "WHEN",
                    "when to record: run, time:2s/60s, steps:3/500, demand, off"},
    {NULL, 0, NULL, NULL},
};

static int is_same_file(const char *a, const char *b)
{
    char resolved[2][PATH_MAX];

    return realpath(a, resolved[0]) && realpath(b, resolved[1]) &&
           strcmp(resolved[0], resolved[1]) == 0;
}

static int is_empty(const char *variable)
{
    const char *there = getenv(variable);

    return !there || !*there;
}

/* Sets the variable that makes the CUDA driver load the library. Returns 0. If the variable names
 * another tool already, prints a message and returns the exit status. */
static int set_injection(const struct sl_command *self, const char *library)
{
    const char *there = getenv(CUDA_VARIABLE);

    if (there && *there && !is_same_file(there, library))
        return sl_args_complain(self,
                                CUDA_VARIABLE "=%s: the driver loads only one library, and this "
                                              "one belongs to another profiler; unset it",
                                there);
    /* The NVTX variable is set here, where no other thread runs. In a job with threads setenv() may
     * crash a thread that reads the environment. */
    if (is_empty(NVTX_VARIABLE))
        setenv(NVTX_VARIABLE, library, 1);
    setenv(CUDA_VARIABLE, library, 1);
    return 0;
}

/* Finds the folder of the Python package `syncline`: that of SYNCLINE_HOME, or else the one beside
 * the library, so that `import syncline` works in any case. Returns 0 or -ENOENT. */
static int find_python(const char *library, char *folder, size_t size)
{
    const char *home = getenv("SYNCLINE_HOME");
    char resolved[PATH_MAX];

    if (home && home[0] == '/' && realpath(home, resolved)) {
        snprintf(folder, size, "%s/python", resolved);
        if (access(folder, R_OK) == 0)
            return 0;
    }
    snprintf(folder, size, "%.*s/syncline/python", (int)(strrchr(library, '/') - library), library);
    return access(folder, R_OK) ? -ENOENT : 0;
}

/* Puts the folder with sitecustomize.py at the front of PYTHONPATH, and the folder of the package
 * at its end. With SYNCLINE_PYTHON=0 sitecustomize.py only moves the package's folder behind
 * site-packages. If the package is not installed, PYTHONPATH stays as it is. */
static void set_python_path(const char *library)
{
    char folder[PATH_MAX + 32], early[PATH_MAX + 64], path[32768];
    const char *there;
    int length;

    if (find_python(library, folder, sizeof(folder)))
        return;
    snprintf(early, sizeof(early), "%s/early", folder);
    there = getenv(PYTHON_VARIABLE);
    there = there ? there : "";
    if (strncmp(there, early, strlen(early)) == 0)
        return;
    length = snprintf(path, sizeof(path), "%s:%s%s%s", early, there, *there ? ":" : "", folder);
    if (length > 0 && (size_t)length < sizeof(path))
        setenv(PYTHON_VARIABLE, path, 1);
}

static int become(const struct sl_command *self, char **argv)
{
    int err;

    fflush(stdout);
    execvp(argv[0], argv);
    err = errno;
    sl_args_complain(self, "%s: %s", argv[0], strerror(err));
    return err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
}

static int run(const struct sl_args *args)
{
    const char *output = args->value[OPT_OUTPUT], *window = args->value[OPT_WINDOW];
    char library[PATH_MAX];
    struct sl_config config;

    if (window && sl_config_read_one(&config, "SYNCLINE_WINDOW", window))
        return sl_args_complain(args->command, "--window %s is not valid: see --help", window);
    if (args->operands == 0)
        return sl_args_complain(args->command, "no command: `syncline run -- python train.py`");
    if (output)
        setenv("SYNCLINE_OUTPUT", output, 1);
    if (window)
        setenv("SYNCLINE_WINDOW", window, 1);
    if (sl_doctor_beside(library, sizeof(library)))
        return sl_args_complain(args->command,
                                "no libsyncline.so beside this command: install syncline");
    if (set_injection(args->command, library))
        return SL_EXIT_USAGE;
    set_python_path(library);
    return become(args->command, args->operand);
}

const struct sl_command sl_cmd_run = {
    .name = "run",
    .summary = "run a command and record it",
    .usage = "run [options] [--] COMMAND [ARGUMENT]...",
    .help = sl_help_run,
    .options = options,
    .operands_max = SL_ARGS_COMMAND,
    .run = run,
};
