/*
 * print_et.c - what `syncline check` says of a Chakra trace.
 *
 * Threads, memory: see print_et.h.
 */
#include "check/print_et.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "print/format.h"

#define PATH_MAX_SHOWN 4096

static void put_string(FILE *f, const char *text)
{
    char out[PATH_MAX_SHOWN * SL_JSON_ESCAPE_MAX];
    size_t size = strnlen(text, PATH_MAX_SHOWN);

    fputc('"', f);
    fwrite(out, 1, (size_t)(sl_json_escape(out, text, size) - out), f);
    fputc('"', f);
}

void sl_check_print_et_text(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et)
{
    char count[SL_FORMAT_SIZE], other[SL_FORMAT_SIZE];
    int i;

    fprintf(f, "%s: Chakra execution trace%s%s\n", path, *sl_et_version(et) ? " " : "",
            sl_et_version(et));
    fprintf(f, "  %s nodes, %s dependencies\n", sl_format_count(count, c->nodes),
            sl_format_count(other, c->deps));
    for (i = 0; i < SL_ET_TYPES; i++)
        if (c->of_type[i])
            fprintf(f, "  %-12s %14s\n", sl_et_type_name((enum sl_et_type)i),
                    sl_format_count(count, c->of_type[i]));
    fprintf(f, "  on threads   %14s  %s", sl_format_count(count, c->cpu_nodes),
            sl_format_span(other, c->cpu_ns));
    fprintf(f, ", %s gaps", sl_format_count(count, c->gap_nodes));
    fprintf(f, ", %s waits\n", sl_format_count(count, c->wait_nodes));
    fprintf(f, "  on GPUs      %14s  %s\n", sl_format_count(count, c->nodes - c->cpu_nodes),
            sl_format_span(other, c->gpu_ns));
    for (i = 0; i < SL_ET_RULES; i++) {
        if (!c->found[i].count)
            continue;
        fprintf(f, "  %s: %s %s (first: %s", sl_severity_name(sl_et_rule_severity(i)),
                sl_format_count(count, c->found[i].count), sl_et_rule_text((enum sl_et_rule)i),
                c->found[i].example);
        if (c->found[i].at != SL_FINDING_NO_PLACE)
            fprintf(f, ", byte %" PRIu64, c->found[i].at);
        fputs(")\n", f);
    }
    if (sl_et_check_worst(c) < SL_SEVERITY_ERROR)
        fputs("  valid\n", f);
}

void sl_check_print_et_json(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et)
{
    const char *separator = "";
    int i;

    fputs("{\"file\": ", f);
    put_string(f, path);
    fprintf(f, ", \"chakra\": \"%s\", \"valid\": %s, \"nodes\": %" PRIu64 ", \"deps\": %" PRIu64,
            sl_et_version(et), sl_et_check_worst(c) < SL_SEVERITY_ERROR ? "true" : "false",
            c->nodes, c->deps);
    fprintf(f,
            ", \"cpu_nodes\": %" PRIu64 ", \"gap_nodes\": %" PRIu64 ", \"wait_nodes\": %" PRIu64
            ", \"cpu_ns\": %" PRIu64 ", \"gpu_ns\": %" PRIu64 ", \"types\": {",
            c->cpu_nodes, c->gap_nodes, c->wait_nodes, c->cpu_ns, c->gpu_ns);
    for (i = 0; i < SL_ET_TYPES; i++) {
        if (!c->of_type[i])
            continue;
        fprintf(f, "%s\"%s\": %" PRIu64, separator, sl_et_type_name((enum sl_et_type)i),
                c->of_type[i]);
        separator = ", ";
    }
    fputs("}, \"problems\": [", f);
    separator = "";
    for (i = 0; i < SL_ET_RULES; i++) {
        if (!c->found[i].count)
            continue;
        fprintf(f, "%s{\"id\": \"%s\", \"severity\": \"%s\", \"count\": %" PRIu64 ", \"first\": ",
                separator, sl_et_rule_name((enum sl_et_rule)i),
                sl_severity_name(sl_et_rule_severity((enum sl_et_rule)i)), c->found[i].count);
        put_string(f, c->found[i].example);
        fputs("}", f);
        separator = ", ";
    }
    fputs("]}\n", f);
}
