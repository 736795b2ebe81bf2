/*
 * configuration_page.c - prints the option table as docs/configuration.md.
 *
 * Used by the documentation's build target, never in a running job.
 */
#include "configuration_page.h"

#include <string.h>

#include "control/config.h"

#define PAGE_COLUMNS 100

static const char intro[] =
    "# Configuration\n"
    "\n"
    "Every option is an environment variable, read once when CUDA is initialised. An empty\n"
    "value means the default. An option with the values 0 and 1 also accepts `off`, `no` and\n"
    "`false`, or `on`, `yes` and `true`.\n"
    "\n"
    "A size is a number with the unit `KiB`, `MiB` or `GiB` (also written `K`, `M`, `G`),\n"
    "`KB`, `MB` or `GB` (powers of 1000), or without a unit in bytes. A duration is a number\n"
    "with the unit `ns`, `us`, `ms`, `s`, `min` or `h`, or without a unit in seconds. The\n"
    "[glossary](glossary.md) explains the terms of this page.\n"
    "\n"
    "This page is generated from the table in `runtime/control/config.c` (build target\n"
    "`configuration_doc`).\n"
    "\n"
    "| Option | Default | Values |\n"
    "|---|---|---|\n";

static const char invalid_intro[] =
    "\n## Invalid values\n"
    "\n"
    "With an invalid value syncline never records more than with the default. Rank 0 reports\n"
    "the invalid value on stderr in one line; the other ranks are silent. The table has the\n"
    "value that is used instead. An option that is not in the table gets its default.\n"
    "\n"
    "| Option with an invalid value | Counts as | Consequence |\n"
    "|---|---|---|\n";

static const char unknown_intro[] =
    "\n"
    "A variable whose name starts with `SYNCLINE_` and is not an option is ignored. Rank 0\n"
    "reports the first %d such names, each with the most similar option, and the number of\n"
    "the others.\n";

static const char *shown_default(const struct sl_option *o)
{
    return *o->fallback ? o->fallback : "(empty)";
}

static void print_words(FILE *f, const struct sl_option_word *words)
{
    fputs("\n| Word | Meaning |\n|---|---|\n", f);
    for (; words->word; words++)
        fprintf(f, "| `%s` | %s |\n", words->word, words->help);
}

/* Length up to the next space outside of `code`, or to the end of the line. */
static size_t word_length(const char *text)
{
    int is_code = 0;
    size_t n = 0;

    for (; text[n] && text[n] != '\n' && (is_code || text[n] != ' '); n++)
        is_code ^= text[n] == '`';
    return n;
}

/* Wraps lines at PAGE_COLUMNS. A '\n' in the text stays; lines of a list item are indented. */
static void print_wrapped(FILE *f, const char *text)
{
    while (*text) {
        size_t column = 0, indent = strncmp(text, "- ", 2) ? 0 : 2;

        while (*text && *text != '\n') {
            size_t length = word_length(text);

            if (column && column + 1 + length > PAGE_COLUMNS) {
                fprintf(f, "\n%*s", (int)indent, "");
                column = indent;
            } else if (column) {
                fputc(' ', f);
                column++;
            }
            fwrite(text, 1, length, f);
            column += length;
            text += length;
            text += *text == ' ';
        }
        fputc('\n', f);
        text += *text == '\n';
    }
}

static void print_invalid(FILE *f)
{
    fputs(invalid_intro, f);
    for (const struct sl_option *o = sl_config_table; o->name; o++)
        if (o->invalid)
            fprintf(f, "| `%s` | `%s` | %s |\n", o->name, o->invalid, o->invalid_means);
    fprintf(f, unknown_intro, SL_CONFIG_UNKNOWN_SHOWN);
}

void sl_config_print_markdown(FILE *f)
{
    fputs(intro, f);
    for (const struct sl_option *o = sl_config_table; o->name; o++)
        fprintf(f, "| `%s` | `%s` | %s |\n", o->name, shown_default(o), o->values);
    print_invalid(f);
    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        fprintf(f, "\n## %s\n\n", o->name);
        print_wrapped(f, o->help);
        if (o->words)
            print_words(f, o->words);
    }
}
