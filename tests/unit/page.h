/*
 * page.h - reads a page of the documentation in docs/.
 *
 * Threads: one. The text of a page is valid until another page is read.
 */
#ifndef TEST_PAGE_H
#define TEST_PAGE_H

#include "test.h"

#include <stdio.h>

/* Returns the text of docs/NAME. Fails if the page does not exist. */
static inline const char *page_read(const char *name)
{
    static char text[65536];
    char path[512];
    size_t got;
    FILE *f;

    snprintf(path, sizeof(path), SYNCLINE_SOURCE_DIR "/docs/%s", name);
    f = fopen(path, "r");
    assert_non_null(f);
    got = fread(text, 1, sizeof(text), f);
    fclose(f);
    assert_in_range(got, 1, sizeof(text) - 1);
    text[got] = '\0';
    return text;
}

#endif
