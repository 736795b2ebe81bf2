/*
 * print_json.c - prints the result of a check as one JSON object.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "check/print.h"

#define TEXT_MAX 4096

static void put_string(FILE *f, const char *text)
{
    char out[TEXT_MAX * SL_JSON_ESCAPE_MAX];
    size_t size = strnlen(text, TEXT_MAX);

    fputc('"', f);
    fwrite(out, 1, (size_t)(sl_json_escape(out, text, size) - out), f);
    fputc('"', f);
}

static void put_optional(FILE *f, const char *key, int has, int64_t value)
{
    if (has)
        fprintf(f, ", \"%s\": %" PRId64, key, value);
    else
        fprintf(f, ", \"%s\": null", key);
}

static void put_input(FILE *f, const struct sl_input_status *input)
{
    fprintf(f,
            ", \"compression\": \"%s\", \"file_bytes\": %" PRIu64 ", \"frames\": %" PRIu64
            ", \"text_bytes\": %" PRIu64,
            sl_input_format_name(input->format), input->file_bytes, input->frames,
            input->text_bytes);
}

static void put_tally(FILE *f, const struct sl_tally *t)
{
    const char *separator = "";
    int timed = t->first_ns <= t->last_ns;

    fprintf(f, ", \"events\": %" PRIu64 ", \"gpu_operations\": %" PRIu64, t->events,
            t->gpu_operations);
    put_optional(f, "first_ns", timed, t->first_ns);
    put_optional(f, "last_ns", timed, t->last_ns);
    fputs(", \"categories\": {", f);
    for (unsigned i = 0; i < t->categories; i++) {
        fputs(i ? ", " : "", f);
        put_string(f, t->category[i].name);
        fprintf(f, ": {\"events\": %" PRIu64 ", \"total_ns\": %" PRIu64 "}", t->category[i].events,
                t->category[i].total_ns);
    }
    fputs("}, \"processes\": [", f);
    for (unsigned i = 0; i < t->processes; i++) {
        fprintf(f, "%s{\"pid\": ", i ? ", " : "");
        put_string(f, t->process[i].pid);
        fputs(", \"name\": ", f);
        put_string(f, t->process[i].name);
        fprintf(f, ", \"threads\": %u}", t->process[i].threads);
    }
    fputs("], \"streams\": [", f);
    for (unsigned i = 0; i < SL_TALLY_LANES; i++) {
        const struct sl_tally_lane *lane = &t->lane[i];

        if (!lane->is_stream)
            continue;
        fprintf(f,
                "%s{\"device\": %" PRId64 ", \"stream\": %" PRId64 ", \"operations\": %" PRIu64
                ", \"busy_ns\": %" PRIu64 "}",
                separator, lane->device, lane->stream, lane->events, lane->busy_ns);
        separator = ", ";
    }
    fputs("]", f);
}

static void put_counters(FILE *f, const struct sl_header *h)
{
    fputs(", \"counters\": {", f);
    for (unsigned i = 0; i < h->counters; i++) {
        fputs(i ? ", " : "", f);
        put_string(f, h->counter[i].name);
        fprintf(f, ": %" PRIu64, h->counter[i].value);
    }
    fputs("}", f);
}

static void put_findings(FILE *f, const struct sl_check *c)
{
    const char *separator = "";

    fputs(", \"problems\": [", f);
    for (int i = 0; i < SL_FIND_COUNT; i++) {
        const struct sl_finding *finding = &c->findings.of[i];
        enum sl_finding_id id = (enum sl_finding_id)i;

        if (!finding->count)
            continue;
        fprintf(f, "%s{\"id\": \"%s\", \"severity\": \"%s\", \"count\": %" PRIu64 ", \"text\": ",
                separator, sl_finding_name(id),
                sl_severity_name(sl_finding_severity(id, c->header.own_file)), finding->count);
        put_string(f, sl_finding_text(id));
        put_optional(f, "byte", finding->at != SL_FINDING_NO_PLACE, (int64_t)finding->at);
        fputs(", \"first\": ", f);
        put_string(f, finding->example);
        fputs("}", f);
        separator = ", ";
    }
    fputs("]", f);
}

void sl_check_print_json(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input)
{
    const struct sl_header *h = &c->header;

    fputs("{\"file\": ", f);
    put_string(f, path);
    fprintf(f, ", \"valid\": %s, \"whole\": %s, \"syncline\": %s",
            sl_check_worst(c) < SL_SEVERITY_ERROR ? "true" : "false", c->whole ? "true" : "false",
            h->own_file ? "true" : "false");
    fputs(", \"version\": ", f);
    put_string(f, h->version);
    fputs(", \"host\": ", f);
    put_string(f, h->host);
    put_input(f, input);
    put_optional(f, "rank", h->has_rank, h->rank);
    put_optional(f, "world_size", h->has_world_size, h->world_size);
    put_optional(f, "base_ns", h->has_base, h->base_ns);
    put_tally(f, c->tally);
    put_counters(f, h);
    put_findings(f, c);
    fputs("}\n", f);
}

/* ---- Chakra ---- */

void sl_check_print_et_json(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et)
{
    const char *separator = "";
    int i;

    fputs("{\"file\": ", f);
    put_string(f, path);
    fprintf(f, ", \"chakra\": \"%s\", \"valid\": %s, \"nodes\": %" PRIu64 ", \"deps\": %" PRIu64,
            sl_et_state(et)->version, sl_et_check_worst(c) < SL_SEVERITY_ERROR ? "true" : "false",
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
