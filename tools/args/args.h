/*
 * args.h - command lines: options from a table, and help from the same table.
 *
 * Threads: main only. Memory: none; everything is borrowed.
 */
#ifndef SL_ARGS_H
#define SL_ARGS_H

#include <stdint.h>
#include <stdio.h>

struct sl_flag {
    const char *name;  /* "output" for --output; NULL ends the table */
    char letter;       /* 'o' for -o; 0 = none */
    const char *value; /* "FILE", or NULL if it takes none */
    const char *help;
};

struct sl_args;

/* What a command takes besides options: up to so many files, or... */
enum {
    SL_ARGS_ANY = -1,
    SL_ARGS_COMMAND = -2, /* a command: the first operand and all that follows it */
};

/* One subcommand. --help need not be in its table. */
struct sl_command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *usage;   /* "check [options] FILE..." */
    const char *about;   /* paragraphs */
    const char *after;   /* exit status, examples */
    const struct sl_flag *options;
    int operands_max;
    int (*run)(const struct sl_args *args); /* the exit status */
};

enum {
    SL_ARGS_OPTIONS = 15 /* of a command */
};

struct sl_args {
    const struct sl_command *command;
    const char *value[SL_ARGS_OPTIONS]; /* by place in the table, the last one given; "" of one that
                                           takes none; NULL: not given */
    char **operand;                     /* NULL behind the last */
    int operands;
};

/* Exit statuses of every command. */
enum {
    SL_EXIT_OK = 0,
    SL_EXIT_PROBLEM = 1, /* the command ran and found something wrong */
    SL_EXIT_USAGE = 2,   /* wrong usage, or nothing could be read or written */
};

/* Reads the command line (argv[0] is the subcommand's name, argv[argc] is NULL) and runs the
 * command. The exit status; a mistake has been said on stderr. Moves what `argv` points at. */
int sl_args_run(const struct sl_command *command, int argc, char **argv);

void sl_args_print_help(const struct sl_command *command, FILE *f);

/* One line on stderr: "syncline COMMAND: ...". The first is SL_EXIT_USAGE, the other
 * SL_EXIT_PROBLEM. */
int sl_args_problem(const struct sl_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int sl_args_complain(const struct sl_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A number from 0 to `most`, digits alone. 0 or -EINVAL. */
int sl_args_number(const char *text, uint64_t most, uint64_t *out);

/* The nearest of `count` names, or NULL when none is near. */
const char *sl_args_nearest(const char *name, const char *const *names, int count);

#endif
