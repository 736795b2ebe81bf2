/*
 * page_template.c - writes the template of a page, with texts in the places of words.
 *
 * Threads, memory: see page.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "report/page.h"

int sl_page_nonce(char nonce[SL_PAGE_NONCE])
{
    unsigned char bytes[(SL_PAGE_NONCE - 1) / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static void put_plain(FILE *f, const char *text)
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

static void put_word(FILE *f, const struct sl_page_word *word)
{
    if (word->text)
        fputs(word->text, f);
    if (word->plain)
        put_plain(f, word->plain);
    if (word->put)
        word->put(f, word->user);
}

void sl_page_put(FILE *f, const char *html, const struct sl_page_word *words, size_t count)
{
    const char *at = html, *from, *to;

    while ((from = strchr(at, '@')) != NULL && (to = strchr(from + 1, '@')) != NULL) {
        size_t size = (size_t)(to - from - 1);

        fwrite(at, 1, (size_t)(from - at), f);
        for (size_t i = 0; i < count; i++)
            if (strlen(words[i].name) == size && memcmp(words[i].name, from + 1, size) == 0)
                put_word(f, &words[i]);
        at = to + 1;
    }
    fputs(at, f);
}
