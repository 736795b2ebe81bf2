/*
 * print_json.c - prints the result of a check as one JSON object.
 *
 * Threads, memory: main only.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "check/check.h"
#include "check/et_check.h"

#define TEXT_MAX 4096

/* Writes `before`, then the text as a JSON string. */
static void put_string(FILE *f, const char *before, const char *text)
{
    char out[TEXT_MAX * SL_JSON_ESCAPE_MAX + 1];

    *sl_json_escape(out, text, strnlen(text, TEXT_MAX)) = '\0';
    fprintf(f, "%s\"%s\"", before, out);
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
        put_string(f, i ? ", " : "", t->category[i].name);
        fprintf(f, ": {\"events\": %" PRIu64 ", \"total_ns\": %" PRIu64 "}", t->category[i].events,
                t->category[i].total_ns);
    }
    fputs("}, \"processes\": [", f);
    for (unsigned i = 0; i < t->processes; i++) {
        put_string(f, i ? ", {\"pid\": " : "{\"pid\": ", t->process[i].pid);
        put_string(f, ", \"name\": ", t->process[i].name);
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
        put_string(f, i ? ", " : "", h->counter[i].name);
        fprintf(f, ": %" PRIu64, h->counter[i].value);
    }
    fputs("}", f);
}

/* Prints the findings. If `is_long` is set, each finding has a description and the text offset of
 * its first example. */
static void put_findings(FILE *f, const struct sl_findings *findings, int own, int is_long)
{
    const char *separator = "";

    fputs(", \"problems\": [", f);
    for (int i = 0; i < SL_FIND_COUNT; i++) {
        const struct sl_finding *finding = &findings->of[i];
        enum sl_finding_id id = (enum sl_finding_id)i;

        if (!finding->count)
            continue;
        fprintf(f, "%s{\"id\": \"%s\", \"severity\": \"%s\", \"count\": %" PRIu64, separator,
                sl_finding_kind[i].name, sl_severity_name[sl_finding_severity(id, own)],
                finding->count);
        if (is_long) {
            put_string(f, ", \"text\": ", sl_finding_kind[i].text);
            put_optional(f, "byte", finding->at != SL_FINDING_NO_PLACE, (int64_t)finding->at);
        }
        put_string(f, ", \"first\": ", finding->example);
        fputs("}", f);
        separator = ", ";
    }
    fputs("]", f);
}

void sl_check_print_json(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input)
{
    const struct sl_header *h = &c->header;

    put_string(f, "{\"file\": ", path);
    fprintf(f, ", \"valid\": %s, \"whole\": %s, \"syncline\": %s",
            sl_findings_worst(&c->findings, c->is_strict) < SL_SEVERITY_ERROR ? "true" : "false",
            c->whole ? "true" : "false", h->own_file ? "true" : "false");
    put_string(f, ", \"version\": ", h->version);
    put_string(f, ", \"host\": ", h->host);
    put_string(f, ", \"job\": ", h->job);
    put_string(f, ", \"run\": ", h->run);
    put_input(f, input);
    put_optional(f, "rank", h->has_rank, h->rank);
    put_optional(f, "world_size", h->has_world_size, h->world_size);
    put_optional(f, "base_ns", h->has_base, h->base_ns);
    put_tally(f, &c->tally);
    put_counters(f, h);
    put_findings(f, &c->findings, c->is_strict, 1);
    fputs("}\n", f);
}

/* ---- results for Chakra traces ---- */

void sl_check_print_et_json(FILE *f, const char *path, const struct sl_et_check *c,
                            const struct sl_et *et)
{
    const char *separator = "";

    put_string(f, "{\"file\": ", path);
    fprintf(f,
            ", \"chakra\": \"%s\", \"valid\": %s, \"nodes\": %" PRIu64 ", \"deps\": %" PRIu64
            ", \"ctrl_deps\": %" PRIu64,
            et->state.version,
            sl_findings_worst(&c->findings, 1) < SL_SEVERITY_ERROR ? "true" : "false", c->nodes,
            c->deps, c->ctrl_deps);
    put_string(f, ", \"job\": ", et->state.job);
    put_string(f, ", \"run\": ", et->state.run);
    fprintf(f,
            ", \"cpu_nodes\": %" PRIu64 ", \"gap_nodes\": %" PRIu64 ", \"wait_nodes\": %" PRIu64
            ", \"cpu_ns\": %" PRIu64 ", \"gpu_ns\": %" PRIu64 ", \"types\": {",
            c->cpu_nodes, c->gap_nodes, c->wait_nodes, c->cpu_ns, c->gpu_ns);
    for (int i = 0; i < SL_ET_TYPES; i++) {
        if (!c->of_type[i])
            continue;
        fprintf(f, "%s\"%s\": %" PRIu64, separator, sl_et_type_name[i], c->of_type[i]);
        separator = ", ";
    }
    fputs("}", f);
    put_findings(f, &c->findings, 1, 0);
    fputs("}\n", f);
}
