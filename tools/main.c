/*
 * main.c - the `syncline` command: finds the subcommand and runs it.
 *
 * Threads: main only. Memory: none.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "print/safe_stream.h"

static const struct sl_command *const commands[] = {
    &sl_cmd_check,    &sl_cmd_collectives, &sl_cmd_convert, &sl_cmd_critical_path,
    &sl_cmd_diff,     &sl_cmd_doctor,      &sl_cmd_edges,   &sl_cmd_open,
    &sl_cmd_pipeline, &sl_cmd_recover,     &sl_cmd_report,  &sl_cmd_run};

#define COMMAND_COUNT ((int)(sizeof(commands) / sizeof(commands[0])))

static void print_help(FILE *f)
{
    const char *after = strstr(sl_help_syncline, "Commands:\n") + strlen("Commands:\n");

    fprintf(f, "%.*s", (int)(after - sl_help_syncline), sl_help_syncline);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(f, "  %-14s %s\n", commands[i]->name, commands[i]->summary);
    fputs(after, f);
}

static const struct sl_command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT];

    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    return sl_args_unknown(NULL, name[0] == '-' ? "option" : "command", name, names, COMMAND_COUNT,
                           "see `syncline --help`");
}

static int dispatch(int argc, char **argv)
{
    const struct sl_command *command;

    if (argc < 2) {
        print_help(stderr);
        return SL_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        command = argc > 2 ? find_command(argv[2]) : NULL;
        if (command)
            sl_args_print_help(command, stdout);
        else
            print_help(stdout);
        return SL_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("syncline " SL_VERSION);
        return SL_EXIT_OK;
    }
    command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    return sl_args_run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int is_json = 0, status;

    for (int i = 1; i < argc; i++)
        is_json |= strcmp(argv[i], "--json") == 0;
    stdout = sl_safe_stream(stdout, is_json);
    stderr = sl_safe_stream(stderr, 0);
    status = dispatch(argc, argv);

    /* If the output could not be written, the command fails, as in `syncline check FILE >
     * /full/disk`. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "syncline: cannot write to standard output: %s\n", strerror(errno));
        status = SL_EXIT_USAGE;
    }
    return status;
}
