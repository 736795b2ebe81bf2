/*
 * check.h - checks that a trace is valid and complete, by running all analyses.
 *
 *   sl_check_create(&c);
 *   while (sl_trace_next(t, &item)) sl_check_item(c, t, &item);
 *   sl_check_end(c, &item.span, &status);
 *
 * Threads: one owner. Memory: at most about 80 MiB for any file.
 */
#ifndef SL_CHECK_H
#define SL_CHECK_H

#include "check/clocks.h"
#include "check/edge_check.h"
#include "check/finding.h"
#include "check/links.h"
#include "check/overlap.h"
#include "check/tally.h"
#include "read/header.h"
#include "read/trace_file.h"

struct sl_check {
    struct sl_findings findings;
    struct sl_header header;
    struct sl_tally tally;
    struct sl_links links;
    struct sl_clocks clocks;
    struct sl_overlap overlap;
    struct sl_edge_check edges;
    unsigned event_arrays; /* number of traceEvents arrays that were read */
    uint64_t events_valid;
    uint64_t readable_end; /* end of the last complete span in the text, in bytes */
    int whole;             /* not 0 if text and compression both ended correctly */
    /* 1 if the checks apply all guarantees of syncline. 0 for a file of another program, and for a
     * file that `syncline recover` completed, because calls and flow arrows of the job's last
     * second may be missing. */
    int is_strict;
};

/* 0 or -ENOMEM. */
int sl_check_create(struct sl_check **out);
void sl_check_destroy(struct sl_check *c); /* NULL is fine */

void sl_check_item(struct sl_check *c, struct sl_trace *t, const struct sl_trace_item *item);

/* Reports what is known only after the last item. `last` is the span at which reading ended. */
void sl_check_end(struct sl_check *c, const struct sl_span *last,
                  const struct sl_input_status *input);

/* Print the result as text (print_text.c), in about ten lines or with every stream, category and
 * counter, or as one JSON object on one line (print_json.c). */
void sl_check_print_text(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input);
void sl_check_print_verbose(FILE *f, const char *path, const struct sl_check *c,
                            const struct sl_input_status *input);
void sl_check_print_json(FILE *f, const char *path, const struct sl_check *c,
                         const struct sl_input_status *input);

/* Parts of the page. sl_check_print_short() prints processes, devices, events and counters. Kineto
 * writes a GPU as a process whose pid is the device number. The name is "" if it is not known. */
void sl_check_print_short(FILE *f, const struct sl_check *c);
int sl_check_is_device(const struct sl_tally *t, const char *pid);
const char *sl_check_device_name(const struct sl_header *h, int64_t device);

#endif
