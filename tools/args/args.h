/*
 * args.h - parses command lines and prints help, both from one table of options.
 *
 * Threads: main only. Memory: none; all pointers are borrowed.
 */
#ifndef SL_ARGS_H
#define SL_ARGS_H

#include <stdint.h>
#include <stdio.h>

struct sl_flag {
    const char *name;  /* "output" for --output; NULL ends the table */
    char letter;       /* 'o' for -o; 0 if the option has no letter */
    const char *value; /* the value's name in the help text, such as "FILE"; NULL if the option
                          takes no value */
    const char *help;
};

struct sl_args;

/* The operands of a command: the maximum number of files, or one of these values. */
enum {
    SL_ARGS_ANY = -1,
    SL_ARGS_COMMAND = -2, /* a command line: the first operand and all words after it */
};

/* One subcommand. --help is implied. */
struct sl_command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *usage;   /* "check [options] FILE..." */
    const char *help;    /* the text of help/NAME.txt; the options are inserted after its line
                            "Options:" */
    const struct sl_flag *options;
    int operands_max;
    int (*run)(const struct sl_args *args); /* returns the exit status */
};

enum {
    SL_ARGS_OPTIONS = 20, /* maximum number of options of a command */
    SL_ARGS_GIVEN = 64    /* maximum number of options with values on one command line */
};

struct sl_args_given {
    int option; /* index in the table of options */
    const char *value;
};

struct sl_args {
    const struct sl_command *command;
    const char *value[SL_ARGS_OPTIONS]; /* the value of each option, in the order of the table. If
                                           the option was repeated, this is its last value. "" if
                                           the option takes no value; NULL if the option was not
                                           given */
    struct sl_args_given given[SL_ARGS_GIVEN]; /* all options with values, in the order of the
                                                  command line, for options that may be repeated */
    int givens;
    char **operand; /* NULL-terminated */
    int operands;
};

/* Exit statuses of every command. */
enum {
    SL_EXIT_OK = 0,
    SL_EXIT_PROBLEM = 1, /* the command ran and found something wrong */
    SL_EXIT_USAGE = 2,   /* wrong usage, or no file could be read or written */
};

/* Parses the command line (argv[0] is the subcommand's name, argv[argc] is NULL) and runs the
 * command. Returns the exit status. A usage error is reported on stderr. Reorders `argv`. */
int sl_args_run(const struct sl_command *command, int argc, char **argv);

void sl_args_print_help(const struct sl_command *command, FILE *f);

/* Both functions print one line on stderr: "syncline COMMAND: ...". sl_args_complain() returns
 * SL_EXIT_USAGE, and sl_args_problem() returns SL_EXIT_PROBLEM. */
int sl_args_problem(const struct sl_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int sl_args_complain(const struct sl_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parses a number from 0 to `most` that is written only with digits. Returns 0 or -EINVAL. */
int sl_args_number(const char *text, uint64_t most, uint64_t *out);

/* Prints "no KIND 'NAME'; did you mean ANOTHER?: REMEDY". The part with ANOTHER is printed only if
 * one of `names` is similar. Returns SL_EXIT_USAGE. */
int sl_args_unknown(const struct sl_command *command, const char *kind, const char *name,
                    const char *const *names, int count, const char *remedy);

/* Returns the most similar of `count` names, or NULL if none is similar. */
const char *sl_args_nearest(const char *name, const char *const *names, int count);

#endif
