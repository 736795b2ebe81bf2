/*
 * cmd_doctor.c - `syncline doctor`: shows what syncline would record here and what prevents
 * recording.
 *
 * Threads: main; CUDA runs in a child process. Memory: static.
 */
#include <unistd.h>

#include "command.h"
#include "doctor/host.h"

enum {
    OPT_QUIET
};

static const struct sl_flag options[] = {
    [OPT_QUIET] = {"quiet", 'q', NULL, "print only notes and problems"},
    {NULL, 0, NULL, NULL},
};

static void print(const struct sl_doctor *h, int quiet)
{
    static const char *const verdict[] = {"ok", "note", "problem"};

    for (int i = 0; i < h->lines; i++) {
        const struct sl_doctor_line *line = &h->line[i];

        if (quiet && line->verdict == SL_DOCTOR_OK)
            continue;
        printf("%-8s %-11s %s\n", verdict[line->verdict], line->topic, line->text);
        if (line->remedy[0])
            printf("%-20s -> %s\n", "", line->remedy);
    }
    if (h->problems)
        printf("\n%d problem%s: recording would fail, or not be as you set it\n", h->problems,
               h->problems == 1 ? "" : "s");
    else
        printf("%srecording would work here\n", h->lines && !quiet ? "\n" : "");
}

static int run(const struct sl_args *args)
{
    static struct sl_doctor host;
    static struct sl_config config;

    sl_doctor_driver(&host);
    sl_doctor_permissions(&host);
    sl_doctor_cupti(&host);
    sl_doctor_library(&host, environ);
    sl_doctor_options(&host, &config, environ);
    sl_doctor_output(&host, &config, environ);
    sl_doctor_memory(&host, &config);
    sl_doctor_python(&host, &config);
    sl_doctor_nvtx(&host, &config, environ);
    sl_doctor_profilers(&host, environ);
    print(&host, args->value[OPT_QUIET] != NULL);
    return host.problems ? SL_EXIT_PROBLEM : SL_EXIT_OK;
}

const struct sl_command sl_cmd_doctor = {
    .name = "doctor",
    .summary = "what would be recorded on this machine, and why not?",
    .usage = "doctor [options]",
    .help = sl_help_doctor,
    .options = options,
    .run = run,
};
