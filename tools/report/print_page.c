/*
 * print_page.c - writes a report as one HTML file: the template, with the styles, the scripts and
 * the report as JSON put in. The JSON is compressed, and written in base64. If the page would be
 * too large to mail, the tables of ranks with the most rows are cut.
 *
 * Threads, memory: see print.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"
#include "report/print.h"
#include "write/sink/sink.h"

#define PAGE_BYTES_MAX  980000
#define NAMES_BYTES_MAX (256u << 20)
#define GZIP_LEVEL      4
#define ROWS_LEAST      2

struct page {
    FILE *f;
    const char *title;
    char nonce[SL_PAGE_NONCE];
    const unsigned char *data; /* the report as JSON, in gzip */
    size_t data_size;
};

/* Writes the data in base64. So no text of it can end the script. */
static void put_data(FILE *f, void *user)
{
    const struct page *page = user;
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < page->data_size; i += 3) {
        size_t left = page->data_size - i;
        uint32_t bits = (uint32_t)page->data[i] << 16;

        if (left > 1)
            bits |= (uint32_t)page->data[i + 1] << 8;
        if (left > 2)
            bits |= page->data[i + 2];
        putc(digit[bits >> 18], f);
        putc(digit[bits >> 12 & 63], f);
        putc(left > 1 ? digit[bits >> 6 & 63] : '=', f);
        putc(left > 2 ? digit[bits & 63] : '=', f);
    }
}

static void put_template(struct page *page)
{
    const struct sl_page_word words[] = {{.name = "CSS", .text = sl_page_css},
                                         {.name = "JS", .text = sl_page_js},
                                         {.name = "UPLOT_CSS", .text = sl_page_uplot_css},
                                         {.name = "UPLOT_JS", .text = sl_page_uplot_js},
                                         {.name = "NONCE", .text = page->nonce},
                                         {.name = "TITLE", .plain = page->title},
                                         {.name = "DATA", .put = put_data, .user = page}};

    sl_page_put(page->f, sl_page_html, words, sizeof(words) / sizeof(words[0]));
}

/* Compresses the report, with at most so many rows of a rank in each table. The caller closes the
 * sink, even after an error. */
static int compress(struct sl_sink **out, size_t rows_of_rank, const struct sl_report *report,
                    const struct sl_report_findings *findings, const struct sl_table *tables,
                    struct page *page)
{
    struct sl_report_page json = {.rows_of_rank = rows_of_rank};
    struct sl_sink *memory = NULL;
    char *text = NULL;
    size_t size = 0;
    const void *data;
    FILE *f;
    int rc = sl_intern_create(&json.names, NAMES_BYTES_MAX);

    if (rc)
        return rc;
    f = open_memstream(&text, &size);
    if (f) {
        sl_report_print_json(f, report, findings, tables, &json);
        rc = fclose(f) == 0 ? 0 : -ENOMEM;
    } else {
        rc = -ENOMEM;
    }
    sl_intern_destroy(json.names);
    if (rc == 0 && (rc = sl_sink_memory_open(&memory)) == 0 &&
        (rc = sl_sink_compress_open(out, memory, SL_COMPRESS_GZIP, GZIP_LEVEL)) != 0)
        memory->close(memory, 0);
    if (rc == 0 && (rc = (*out)->write(*out, text, size)) == 0 && (rc = (*out)->sync(*out)) == 0) {
        sl_sink_memory_get(memory, &data, &page->data_size);
        page->data = data;
    }
    free(text);
    return rc;
}

/* Returns the number of rows of the longest table. */
static size_t longest(const struct sl_table *tables)
{
    size_t rows = 0;

    for (; tables->metric; tables++)
        rows = tables->rows > rows ? tables->rows : rows;
    return rows;
}

int sl_report_print_page(FILE *f, const struct sl_report *report,
                         const struct sl_report_findings *findings, const struct sl_table *tables)
{
    const size_t texts = strlen(sl_page_html) + strlen(sl_page_css) + strlen(sl_page_js) +
                         strlen(sl_page_uplot_css) + strlen(sl_page_uplot_js);
    struct page page = {.f = f, .title = sl_report_title(report)};
    struct sl_sink *sink = NULL;
    size_t rows = longest(tables), room, size;
    int rc = sl_page_nonce(page.nonce);

    while (rc == 0) {
        rc = compress(&sink, rows, report, findings, tables, &page);
        room = PAGE_BYTES_MAX - texts;
        size = page.data_size / 3 * 4;
        if (rc || size <= room || rows <= ROWS_LEAST)
            break;
        sink->close(sink, 0);
        sink = NULL;
        /* The size falls more slowly than the rows, because short tables are not cut. */
        rows = (size_t)((double)rows * ((double)room / (double)size) * 0.9);
        rows = rows < ROWS_LEAST ? ROWS_LEAST : rows;
    }
    if (rc == 0)
        put_template(&page);
    if (sink)
        sink->close(sink, 0);
    return rc;
}
