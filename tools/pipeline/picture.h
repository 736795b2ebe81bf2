/*
 * picture.h - the picture of a pipeline: a row for each stage, with a box for each phase.
 *
 * Boxes have the number of the micro-batch, and are hatched if their place is guessed.
 * Communication is in thin boxes below, pale while it waits for another stage.
 *
 * Threads: one owner. Memory: none.
 */
#ifndef SL_PIPELINE_PICTURE_H
#define SL_PIPELINE_PICTURE_H

#include "pipeline/print.h"

#define SL_PICTURE_BOXES 12000 /* phases in a picture, about */

/* What a picture shows of a pipeline: times on the reference clock of the pipeline. */
struct sl_picture {
    size_t pipeline;
    int64_t from_ns, to_ns; /* the part that is drawn */
    int64_t view_ns[2];     /* the part that is seen first */
    size_t left_out;        /* iterations that are not in it, of a page */
    int is_page;            /* 1: boxes carry their times, so that a script can place them again */
};

/* Sets the part of a pipeline to its typical iteration, or (`is_page`) to all that was recorded.
 * Returns 0 if there is nothing to draw. */
int sl_picture_choose(struct sl_picture *out, const struct sl_pipeline_view *v, size_t pipeline,
                      int is_page);

/* The size of a picture in pixels. */
int sl_picture_width(void);
int sl_picture_height(const struct sl_pipeline_view *v, size_t pipeline);

/* Writes the element <svg>, at a height of `y` in an outer one. */
void sl_picture_put(FILE *f, const struct sl_pipeline_view *v, const struct sl_picture *picture,
                    int y);

/* Writes at most 300 bytes of a text for XML: escaped, and with '?' for what XML does not allow. */
void sl_picture_text(FILE *f, const char *text);

#endif
