/*
 * page.h - a committed page of the documentation.
 *
 * Threads: one. Memory: the page that was read last; the next one takes its place.
 */
#ifndef TEST_PAGE_H
#define TEST_PAGE_H

#include "test.h"

#include <stdio.h>

/* The text of docs/NAME; fails where there is none. */
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
