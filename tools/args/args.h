/*
 * args.h - command lines: options from a table, and help from the same table.
 *
 * Threads: main only. Memory: none; everything is borrowed.
 */
#ifndef SL_ARGS_H
#define SL_ARGS_H

#include <stdio.h>

struct sl_flag {
    const char *name;  /* "output" for --output; NULL ends the table */
    char letter;       /* 'o' for -o; 0 = none */
    const char *value; /* "FILE", or NULL if it takes none */
    const char *help;
};

/* One subcommand. */
struct sl_command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *usage;   /* "check [options] FILE..." */
    const char *about;   /* paragraphs */
    const char *after;   /* exit status, examples */
    const struct sl_flag *options;
    int (*run)(const struct sl_command *self, int argc, char **argv); /* the exit status */
};

struct sl_args {
    const struct sl_command *command;
    int argc;
    char **argv;
    int at;
    int only_operands;   /* after -- */
    const char *cluster; /* rest of "-abc" */
    const char *value;   /* of the last option, or the operand */
};

enum {
    SL_ARGS_OPERAND = -1, /* `value` is the operand */
    SL_ARGS_END = -2,
    SL_ARGS_ERROR = -3, /* said on stderr: exit with SL_EXIT_USAGE */
};

/* Exit statuses of every command. */
enum {
    SL_EXIT_OK = 0,
    SL_EXIT_PROBLEM = 1, /* the command ran and found something wrong */
    SL_EXIT_USAGE = 2,   /* wrong usage, or nothing could be read or written */
};

/* argv[0] is the subcommand's name. */
void sl_args_begin(struct sl_args *a, const struct sl_command *command, int argc, char **argv);

/* Index of the next option in the table, or one of the above. */
int sl_args_next(struct sl_args *a);

/* The operand, where one file is taken. 0; SL_EXIT_USAGE after a line on stderr: there is one. */
int sl_args_take_file(const struct sl_args *a, const char **file);

void sl_args_print_help(const struct sl_command *command, FILE *f);

/* One line on stderr: "syncline COMMAND: ...". */
void sl_args_complain(const struct sl_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The nearest of `count` names, or NULL when none is near. */
const char *sl_args_nearest(const char *name, const char *const *names, int count);

#endif
