/*
 * progress.c - shows a progress line on the terminal.
 *
 * Threads, memory: see progress.h.
 */
#include "print/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "print/format.h"

#define SECOND_NS 1000000000ull
#define REDRAW_NS (SECOND_NS / 5)

void sl_progress_begin(struct sl_progress *p, const char *what, const char *path)
{
    *p = (struct sl_progress){.on = isatty(STDERR_FILENO)};
    snprintf(p->what, sizeof(p->what), "%s%s%.100s", what, *path ? " " : "", path);
    for (char *at = p->what; *at; at++) /* the progress line is not written through a safe stream,
                                           so unsafe bytes are replaced here */
        *at = *at < ' ' || *at > '~' ? '?' : *at;
    if (!p->on)
        return;
    p->started_ns = sl_clock_monotonic();
    p->next_ns = p->started_ns + SECOND_NS;
}

void sl_progress_step(struct sl_progress *p, uint64_t done, uint64_t total)
{
    char bytes[SL_FORMAT_SIZE], of[SL_FORMAT_SIZE];
    uint64_t now;

    now = sl_clock_monotonic();
    if (now < p->next_ns)
        return;
    p->next_ns = now + REDRAW_NS;
    p->shown = 1;
    sl_format_bytes(bytes, done);
    if (total && done) {
        double elapsed = (double)(now - p->started_ns) / 1e9;
        double left = elapsed * (double)(total - (done < total ? done : total)) / (double)done;

        dprintf(STDERR_FILENO, "\r\033[K%s: %s of %s (%d %%), %.0f s left", p->what, bytes,
                sl_format_bytes(of, total), (int)(100.0 * (double)done / (double)total), left);
    } else {
        dprintf(STDERR_FILENO, "\r\033[K%s: %s", p->what, bytes);
    }
}

void sl_progress_end(struct sl_progress *p)
{
    if (p->shown)
        dprintf(STDERR_FILENO, "\r\033[K");
    p->shown = 0;
}
