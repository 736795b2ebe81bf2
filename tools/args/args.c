/*
 * args.c - parses command lines.
 *
 * getopt_long is not used, because it neither suggests the nearest option nor prints help.
 *
 * Threads, memory: see args.h.
 */
#include "args/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define NAME_MAX_SIZE 32

static void complain(const struct sl_command *command, const char *format, va_list args)
{
    fflush(stdout);
    fprintf(stderr, "syncline%s%s: ", command ? " " : "", command ? command->name : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int sl_args_complain(const struct sl_command *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(command, format, args);
    va_end(args);
    return SL_EXIT_USAGE;
}

int sl_args_problem(const struct sl_command *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(command, format, args);
    va_end(args);
    return SL_EXIT_PROBLEM;
}

int sl_args_number(const char *text, uint64_t most, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && *out <= most ? 0
                                                                                         : -EINVAL;
}

const char *sl_args_nearest(const char *name, const char *const *names, int count)
{
    const char *best = NULL;
    unsigned best_distance = (unsigned)strlen(name) / 2 + 1;

    for (int i = 0; i < count; i++) {
        unsigned d = sl_nearest_distance(name, names[i]);

        if (d < best_distance) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}

int sl_args_unknown(const struct sl_command *command, const char *kind, const char *name,
                    const char *const *names, int count, const char *remedy)
{
    const char *nearest = sl_args_nearest(name, names, count);

    return sl_args_complain(command, "no %s '%s'%s%s%s: %s", kind, name,
                            nearest ? "; did you mean " : "", nearest ? nearest : "",
                            nearest ? "?" : "", remedy);
}

/* ---- parsing of the command line ---- */

struct reader {
    struct sl_args args;
    char **next; /* next argument; the list ends with NULL */
};

enum {
    GO_ON = -1 /* parsing continues; any other value is the exit status */
};

static const struct sl_flag help = {"help", 'h', NULL, "this text"};

/* Returns the option with this index: first the options of the command, then --help, then NULL. */
static const struct sl_flag *option(const struct sl_command *command, int index)
{
    const struct sl_flag *o = command->options;
    int count = 0;

    while (o[count].name)
        count++;
    return index < count ? &o[index] : index == count ? &help : NULL;
}

static int unknown_option(const struct sl_command *command, const char *name)
{
    const char *names[SL_ARGS_OPTIONS + 1];
    const char *nearest;
    int count = 0;

    for (const struct sl_flag *o; (o = option(command, count)); count++)
        names[count] = o->name;
    nearest = sl_args_nearest(name, names, count);
    return sl_args_complain(command, "no option --%s%s%s%s: see `syncline %s --help`", name,
                            nearest ? "; did you mean --" : "", nearest ? nearest : "",
                            nearest ? "?" : "", command->name);
}

/* Stores the option's value, which is the text after '=' or the next argument. */
static int take_value(struct reader *r, int index, const char *attached)
{
    const struct sl_flag *o = option(r->args.command, index);

    if (!o->value && attached)
        return sl_args_complain(r->args.command, "--%s takes no value", o->name);
    if (o == &help) {
        sl_args_print_help(r->args.command, stdout);
        return SL_EXIT_OK;
    }
    if (o->value && !attached && !(attached = *r->next++))
        return sl_args_complain(r->args.command, "--%s needs a value: --%s %s", o->name, o->name,
                                o->value);
    r->args.value[index] = attached ? attached : "";
    if (!o->value)
        return GO_ON;
    if (r->args.givens == SL_ARGS_GIVEN)
        return sl_args_complain(r->args.command, "more than %d options were given", SL_ARGS_GIVEN);
    r->args.given[r->args.givens++] = (struct sl_args_given){index, attached};
    return GO_ON;
}

static int long_option(struct reader *r, const char *name)
{
    const char *equal = strchr(name, '=');
    size_t size = equal ? (size_t)(equal - name) : strlen(name);
    const struct sl_flag *o;
    char text[NAME_MAX_SIZE];

    for (int i = 0; (o = option(r->args.command, i)); i++)
        if (strlen(o->name) == size && memcmp(o->name, name, size) == 0)
            return take_value(r, i, equal ? equal + 1 : NULL);
    snprintf(text, sizeof(text), "%.*s", (int)size, name);
    return unknown_option(r->args.command, text);
}

/* Handles the letters "abc" of -abc. If an option takes a value, the rest of the letters is the
 * value. */
static int short_options(struct reader *r, const char *letters)
{
    const struct sl_flag *o;
    int rc = GO_ON, i;

    while (*letters && rc == GO_ON) {
        for (i = 0; (o = option(r->args.command, i)) && o->letter != *letters; i++)
            ;
        if (!o)
            return sl_args_complain(r->args.command, "no option -%c: see `syncline %s --help`",
                                    *letters, r->args.command->name);
        letters++;
        if (o->value)
            return take_value(r, i, *letters ? letters : NULL);
        rc = take_value(r, i, NULL);
    }
    return rc;
}

/* Moves an operand to the front of the argument list, where options that are already parsed leave
 * room. */
static int take_operand(struct reader *r, char *arg)
{
    const struct sl_command *command = r->args.command;

    r->args.operand[r->args.operands++] = arg;
    if (r->args.operands <= command->operands_max || command->operands_max < 0)
        return GO_ON;
    if (command->operands_max == 0)
        sl_args_complain(command, "takes no operand: '%s'", arg);
    else
        sl_args_complain(command, "one FILE at a time: %s and %s were given", r->args.operand[0],
                         arg);
    return SL_EXIT_USAGE;
}

int sl_args_run(const struct sl_command *command, int argc, char **argv)
{
    struct reader r = {.args = {.command = command, .operand = argv + 1}, .next = argv + 1};
    int only_operands = 0, rc = GO_ON;
    char *arg;

    while (rc == GO_ON && (arg = *r.next++)) {
        if (!only_operands && strcmp(arg, "--") == 0) {
            only_operands = 1;
        } else if (!only_operands && arg[0] == '-' && arg[1]) {
            rc = arg[1] == '-' ? long_option(&r, arg + 2) : short_options(&r, arg + 1);
        } else if (command->operands_max == SL_ARGS_COMMAND) {
            r.args.operand = r.next - 1;
            r.args.operands = argc - (int)(r.args.operand - argv);
            return command->run(&r.args);
        } else {
            rc = take_operand(&r, arg);
        }
    }
    if (rc != GO_ON)
        return rc;
    r.args.operand[r.args.operands] = NULL;
    return command->run(&r.args);
}

void sl_args_print_help(const struct sl_command *command, FILE *f)
{
    const char *after = strstr(command->help, "Options:\n") + strlen("Options:\n");
    const struct sl_flag *o;

    fprintf(f, "Usage: syncline %s\n\n%.*s", command->usage, (int)(after - command->help),
            command->help);
    for (int i = 0; (o = option(command, i)); i++) {
        char left[64], letter[8] = "    ";

        if (o->letter)
            snprintf(letter, sizeof(letter), "-%c, ", o->letter);
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        fprintf(f, "  %-24s %s\n", left, o->help);
    }
    fputs(after, f);
}
