/*
 * args.c - command lines.
 *
 * getopt_long would do the parsing, but neither names the nearest option nor prints help.
 *
 * Threads, memory: see args.h.
 */
#include "args/args.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define NAME_MAX_SIZE 32

void sl_args_complain(const struct sl_command *command, const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "syncline%s%s: ", command ? " " : "", command ? command->name : "");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
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

void sl_args_begin(struct sl_args *a, const struct sl_command *command, int argc, char **argv)
{
    *a = (struct sl_args){.command = command, .argc = argc, .argv = argv, .at = 1};
}

static int unknown_option(struct sl_args *a, const char *name)
{
    const struct sl_flag *o = a->command->options;
    const char *names[16];
    const char *nearest;
    int count = 0;

    for (; o[count].name && count < 16; count++)
        names[count] = o[count].name;
    nearest = sl_args_nearest(name, names, count);
    sl_args_complain(a->command, "no option --%s%s%s%s: see `syncline %s --help`", name,
                     nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "",
                     a->command->name);
    return SL_ARGS_ERROR;
}

/* The option's value: what follows '=' or in the next argument. */
static int take_value(struct sl_args *a, int index, const char *attached)
{
    const struct sl_flag *o = &a->command->options[index];

    a->value = attached;
    if (!o->value && attached) {
        sl_args_complain(a->command, "--%s takes no value", o->name);
        return SL_ARGS_ERROR;
    }
    if (o->value && !attached) {
        if (a->at == a->argc) {
            sl_args_complain(a->command, "--%s needs a value: --%s %s", o->name, o->name, o->value);
            return SL_ARGS_ERROR;
        }
        a->value = a->argv[a->at++];
    }
    return index;
}

static int long_option(struct sl_args *a, const char *name)
{
    const char *equal = strchr(name, '=');
    size_t size = equal ? (size_t)(equal - name) : strlen(name);
    const struct sl_flag *o = a->command->options;
    char text[NAME_MAX_SIZE];

    for (int i = 0; o[i].name; i++) {
        if (strlen(o[i].name) == size && memcmp(o[i].name, name, size) == 0)
            return take_value(a, i, equal ? equal + 1 : NULL);
    }
    snprintf(text, sizeof(text), "%.*s", (int)size, name);
    return unknown_option(a, text);
}

static int short_option(struct sl_args *a)
{
    const struct sl_flag *o = a->command->options;
    char letter = *a->cluster++;

    for (int i = 0; o[i].name; i++) {
        const char *rest = *a->cluster ? a->cluster : NULL;

        if (o[i].letter != letter)
            continue;
        if (o[i].value)
            a->cluster = NULL;
        return take_value(a, i, o[i].value ? rest : NULL);
    }
    sl_args_complain(a->command, "no option -%c: see `syncline %s --help`", letter,
                     a->command->name);
    return SL_ARGS_ERROR;
}

int sl_args_next(struct sl_args *a)
{
    const char *arg;

    if (a->cluster && *a->cluster)
        return short_option(a);
    if (a->at >= a->argc)
        return SL_ARGS_END;
    arg = a->argv[a->at++];
    if (!a->only_operands && strcmp(arg, "--") == 0) {
        a->only_operands = 1;
        return sl_args_next(a);
    }
    if (a->only_operands || arg[0] != '-' || arg[1] == '\0') {
        a->value = arg;
        return SL_ARGS_OPERAND;
    }
    if (arg[1] == '-')
        return long_option(a, arg + 2);
    a->cluster = arg + 1;
    return short_option(a);
}

int sl_args_take_file(const struct sl_args *a, const char **file)
{
    if (*file) {
        sl_args_complain(a->command, "one FILE at a time: %s and %s were given", *file, a->value);
        return SL_EXIT_USAGE;
    }
    *file = a->value;
    return 0;
}

void sl_args_print_help(const struct sl_command *command, FILE *f)
{
    fprintf(f, "Usage: syncline %s\n\n%s\n\nOptions:\n", command->usage, command->about);
    for (const struct sl_flag *o = command->options; o->name; o++) {
        char left[64], letter[8] = "    ";

        if (o->letter)
            snprintf(letter, sizeof(letter), "-%c, ", o->letter);
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        fprintf(f, "  %-24s %s\n", left, o->help);
    }
    fprintf(f, "\n%s", command->after);
}
