/*
 * load.c - finds out whether the machine has more runnable threads than processors. Any thread; no
 * state.
 */
#include "base/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own_file.h"

unsigned sl_load_runnable(const char *text)
{
    /* A text such as "0.20 0.18 0.12 3/480 11206" contains three averages, and the numbers of
     * runnable and of all threads. */
    for (int field = 0; field < 3 && text; field++) {
        text = strchr(text, ' ');
        if (text)
            text++;
    }
    return text && strchr(text, '/') ? (unsigned)strtoul(text, NULL, 10) : 0;
}

int sl_load_is_high(void)
{
    int saved = errno;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    char text[128];
    ssize_t got = sl_own_file_read("/proc/loadavg", text, sizeof(text) - 1);

    text[got > 0 ? got : 0] = '\0';
    errno = saved;
    return processors > 0 && sl_load_runnable(text) > (unsigned long)processors;
}
