/*
 * print.h - prints the pipelines: as text, JSON, a picture (SVG), or a page with the picture.
 *
 * Threads: main only. Memory: none, but for the page.
 */
#ifndef SL_PIPELINE_PRINT_H
#define SL_PIPELINE_PRINT_H

#include <stdio.h>

#include "pipeline/bubble.h"

struct sl_pipeline_view {
    const struct sl_schedule *schedule;
    const struct sl_bubble *bubble; /* of each pipeline */
    const struct sl_phase_names *names;
};

void sl_pipeline_print_text(FILE *f, const struct sl_pipeline_view *v);
void sl_pipeline_print_json(FILE *f, const struct sl_pipeline_view *v);

/* Writes the picture of the iteration of each pipeline whose length is the median. */
void sl_pipeline_print_svg(FILE *f, const struct sl_pipeline_view *v);

/* Writes a page with the picture of all iterations, which can be zoomed. Returns 0, -ENOMEM or
 * -EIO. The caller checks `f` for errors. */
int sl_pipeline_print_page(FILE *f, const struct sl_pipeline_view *v);

/* Calls `take` with each sentence about what limits the result (notes.c). */
void sl_pipeline_notes(const struct sl_pipeline_view *v,
                       void (*take)(void *user, const char *sentence), void *user);

/* Writes the first sentence about a pipeline: its stages, micro-batches and bubble. Returns `to`.
 */
char *sl_pipeline_sentence(char *to, size_t size, const struct sl_pipeline_view *v,
                           size_t pipeline);

/* The lane of a stage, and a text that names it, such as "rank 3 (host-b)". */
const struct sl_lane *sl_pipeline_lane(const struct sl_pipeline_view *v, size_t pipeline,
                                       size_t stage);
char *sl_pipeline_lane_text(char *to, size_t size, const struct sl_pipeline_view *v,
                            const struct sl_lane *lane);

/* Returns the iteration of the median length, or SIZE_MAX. */
size_t sl_pipeline_typical(const struct sl_pipeline_view *v, size_t pipeline);

/* Returns the name of a part of the bubble, such as "CPU late". */
const char *sl_pipeline_cause(enum sl_part part);

/* Sets `order` to the names that no pattern matches, the most frequent first, at most `most`.
 * Returns their number. */
size_t sl_pipeline_strangers(const struct sl_phase_names *n, uint32_t *order, size_t most);

/* Sets `name` to the names of the loose kernels with most time, at most `most`. Returns their
 * number. */
size_t sl_pipeline_loose(const struct sl_phase_names *n, uint32_t *name, size_t most);

#endif
