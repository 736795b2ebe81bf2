/*
 * print_page.c - writes a report as one HTML file: the template, with the styles, the scripts and
 * the report as JSON put in.
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

#define NONCE_BYTES 16

struct page {
    FILE *f;
    const char *title;
    char nonce[2 * NONCE_BYTES + 1];
    char *data; /* the report as JSON */
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

/* In JSON, '<' can only be inside a string. Written as an escape it cannot end the script. */
static void put_data(const struct page *page)
{
    for (size_t i = 0; i < page->data_size; i++) {
        if (page->data[i] == '<')
            fputs("\\u003c", page->f);
        else
            putc(page->data[i], page->f);
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

int sl_report_print_page(FILE *f, const struct sl_report *report,
                         const struct sl_report_findings *findings, const struct sl_table *tables)
{
    struct page page = {.f = f, .title = sl_report_title(report)};
    FILE *json = open_memstream(&page.data, &page.data_size);
    int rc = json ? make_nonce(&page) : -ENOMEM;

    if (!json)
        return rc;
    sl_report_print_json(json, report, findings, tables, 1);
    if (fclose(json) != 0)
        rc = -ENOMEM;
    if (rc == 0)
        put_template(&page);
    free(page.data);
    return rc;
}
