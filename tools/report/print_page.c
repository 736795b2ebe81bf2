/*
 * print_page.c - writes a report as one HTML file: the template, with the styles, the scripts and
 * the report as JSON put in. The JSON is compressed, and written in base64. If the page would be
 * too large to mail, the tables of ranks with the most rows are cut.
 *
 * The page's Content-Security-Policy runs only scripts that carry the page's nonce, and loads
 * nothing. So a name in a trace cannot run code, even if its text were taken for HTML.
 *
 * Threads, memory: see print.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "report/page.h"
#include "report/print.h"
#include "write/sink/sink.h"

#define NONCE_BYTES     16
#define PAGE_BYTES_MAX  980000
#define NAMES_BYTES_MAX (256u << 20)
#define GZIP_LEVEL      4
#define ROWS_LEAST      2

struct page {
    FILE *f;
    const char *title;
    char nonce[2 * NONCE_BYTES + 1];
    const unsigned char *data; /* the report as JSON, in gzip */
    size_t data_size;
};

static int make_nonce(struct page *page)
{
    unsigned char bytes[NONCE_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -EIO;
    for (int i = 0; i < NONCE_BYTES; i++)
        snprintf(page->nonce + 2 * (size_t)i, 3, "%02x", bytes[i]);
    return 0;
}

static void put_html(FILE *f, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", f);
            break;
        case '&':
            fputs("&amp;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        default:
            putc(*text, f);
        }
    }
}

/* Writes the data in base64. So no text of it can end the script. */
static void put_data(const struct page *page)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < page->data_size; i += 3) {
        size_t left = page->data_size - i;
        uint32_t bits = (uint32_t)page->data[i] << 16;

        if (left > 1)
            bits |= (uint32_t)page->data[i + 1] << 8;
        if (left > 2)
            bits |= page->data[i + 2];
        putc(digit[bits >> 18], page->f);
        putc(digit[bits >> 12 & 63], page->f);
        putc(left > 1 ? digit[bits >> 6 & 63] : '=', page->f);
        putc(left > 2 ? digit[bits & 63] : '=', page->f);
    }
}

/* Writes what stands for the word at `name`. */
static void put_word(const struct page *page, const char *name, size_t size)
{
    static const struct {
        const char *name, *text;
    } texts[] = {{"CSS", sl_page_css},
                 {"JS", sl_page_js},
                 {"UPLOT_CSS", sl_page_uplot_css},
                 {"UPLOT_JS", sl_page_uplot_js}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strlen(texts[i].name) == size && memcmp(texts[i].name, name, size) == 0)
            fputs(texts[i].text, page->f);
    if (size == 5 && memcmp(name, "NONCE", size) == 0)
        fputs(page->nonce, page->f);
    if (size == 5 && memcmp(name, "TITLE", size) == 0)
        put_html(page->f, page->title);
    if (size == 4 && memcmp(name, "DATA", size) == 0)
        put_data(page);
}

/* Writes the template. A word of it in capitals between two '@' stands for something else. */
static void put_template(const struct page *page)
{
    const char *at = sl_page_html, *from, *to;

    while ((from = strchr(at, '@')) != NULL && (to = strchr(from + 1, '@')) != NULL) {
        fwrite(at, 1, (size_t)(from - at), page->f);
        put_word(page, from + 1, (size_t)(to - from - 1));
        at = to + 1;
    }
    fputs(at, page->f);
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
    int rc = make_nonce(&page);

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
