/*
 * page.h - pages of HTML that load nothing: the texts that the build makes from the files in page/
 * and from uPlot, and templates.
 *
 * A word of a template in capitals between two '@' stands for a text. The page's
 * Content-Security-Policy runs only scripts that carry the page's nonce, and loads nothing. So a
 * name in a trace cannot run code, even if its text were taken for HTML.
 *
 * Threads: one owner. Memory: none.
 */
#ifndef SL_REPORT_PAGE_H
#define SL_REPORT_PAGE_H

#include <stddef.h>
#include <stdio.h>

extern const char sl_page_html[], sl_page_css[], sl_page_js[];
extern const char sl_page_uplot_js[], sl_page_uplot_css[];
extern const char sl_page_pipeline_html[], sl_page_pipeline_css[], sl_page_pipeline_js[];

#define SL_PAGE_NONCE 33

/* What a word of a template stands for. */
struct sl_page_word {
    const char *name;
    const char *text;                 /* as it is */
    const char *plain;                /* or with the characters of HTML escaped */
    void (*put)(FILE *f, void *user); /* or what this writes */
    void *user;
};

/* Makes random digits. Returns 0, or -EIO if the system gives none. */
int sl_page_nonce(char nonce[SL_PAGE_NONCE]);

/* Writes the template. Words that are not in the list stand for nothing. */
void sl_page_put(FILE *f, const char *html, const struct sl_page_word *words, size_t count);

#endif
