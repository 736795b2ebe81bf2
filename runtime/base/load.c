/*
 * load.c - whether the machine has more threads that want to run than processors. Enters from any
 * thread; holds no state.
 */
#include "base/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned sl_load_runnable(const char *text)
{
    /* "0.20 0.18 0.12 3/480 11206": three averages, runnable/all */
    for (int field = 0; field < 3 && text; field++) {
        text = strchr(text, ' ');
        if (text)
            text++;
    }
    return text && strchr(text, '/') ? (unsigned)strtoul(text, NULL, 10) : 0;
}

int sl_load_is_high(void)
{
    int saved = errno, fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    char text[128];
    ssize_t got = -1;

    if (fd >= 0) {
        got = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    errno = saved;
    return processors > 0 && sl_load_runnable(text) > (unsigned long)processors;
}
