/*
 * print_page.c - writes the pictures and the numbers into one page of HTML (report/page.h).
 *
 * Threads, memory: see print.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/picture.h"
#include "report/page.h"
#include "report/print.h"

static void put_pictures(FILE *f, void *user)
{
    const struct sl_pipeline_view *v = user;
    struct sl_picture picture;
    int any = 0;

    for (size_t i = 0; i < v->schedule->pipelines; i++) {
        if (!sl_picture_choose(&picture, v, i, 1))
            continue;
        fputs("<div class=\"picture\">\n", f);
        sl_picture_put(f, v, &picture, 0);
        fputs("</div>\n", f);
        any = 1;
    }
    if (!any)
        fputs("<p>No iteration has GPU work in phases.</p>\n", f);
}

int sl_pipeline_print_page(FILE *f, const struct sl_pipeline_view *v)
{
    struct sl_pipeline_view view = *v;
    char nonce[SL_PAGE_NONCE], *numbers = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&numbers, &size);
    int rc = text ? sl_page_nonce(nonce) : -ENOMEM;

    if (text) {
        sl_pipeline_print_text(text, v);
        rc = fclose(text) == 0 ? rc : -ENOMEM;
    }
    if (rc == 0) {
        const struct sl_page_word words[] = {
            {.name = "CSS", .text = sl_page_pipeline_css},
            {.name = "JS", .text = sl_page_pipeline_js},
            {.name = "NONCE", .text = nonce},
            {.name = "TITLE", .plain = "Pipelines"},
            {.name = "TEXT", .plain = numbers},
            {.name = "PICTURES", .put = put_pictures, .user = &view}};

        sl_page_put(f, sl_page_pipeline_html, words, sizeof(words) / sizeof(words[0]));
    }
    free(numbers);
    return rc;
}
