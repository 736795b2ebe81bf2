/*
 * format.c - formats numbers for readers.
 *
 * Threads, memory: see format.h.
 */
#include "print/format.h"

#include <inttypes.h>
#include <time.h>

#include "sync/edge.h"

char *sl_format_count(char *to, uint64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    char *at = to;

    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *at++ = ' ';
        *at++ = digits[i];
    }
    *at = '\0';
    return to;
}

char *sl_format_bytes(char *to, uint64_t bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    int i = 0;

    for (; value >= 999.95 && i < 6; i++)
        value /= 1000;
    snprintf(to, SL_FORMAT_SIZE, i ? "%.1f %s" : "%.0f %s", value, unit[i]);
    return to;
}

char *sl_format_span(char *to, uint64_t ns)
{
    if (ns >= 1000000000)
        snprintf(to, SL_FORMAT_SIZE, "%.3f s", (double)ns / 1e9);
    else if (ns >= 1000000)
        snprintf(to, SL_FORMAT_SIZE, "%.3f ms", (double)ns / 1e6);
    else
        snprintf(to, SL_FORMAT_SIZE, "%.3f us", (double)ns / 1e3);
    return to;
}

char *sl_format_about(char *to, uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    unsigned unit = 0;

    while (value >= 999.5 && unit < 3) {
        value /= 1000;
        unit++;
    }
    snprintf(to, SL_FORMAT_SIZE, "%.*f %s",
             unit == 0 || value >= 99.95 ? 0
             : value >= 9.995            ? 1
                                         : 2,
             value, units[unit]);
    return to;
}

char *sl_format_date(char *to, int64_t epoch_ns)
{
    time_t seconds = (time_t)(epoch_ns / 1000000000);
    struct tm tm;
    size_t size;

    if (epoch_ns < 0 || !gmtime_r(&seconds, &tm)) {
        snprintf(to, SL_FORMAT_SIZE, "?");
        return to;
    }
    size = strftime(to, SL_FORMAT_SIZE, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(to + size, SL_FORMAT_SIZE - size, ".%03d UTC", (int)(epoch_ns / 1000000 % 1000));
    return to;
}

int sl_format_losses(char *to, size_t size, const uint64_t *lost)
{
    size_t used = 0;

    to[0] = '\0';
    for (int i = 0; i < SL_EDGE_LOST_COUNT && used < size; i++) {
        if (lost[i])
            used += (size_t)snprintf(to + used, size - used, "%s%s %" PRIu64, used ? ", " : "",
                                     sl_edge_loss_name((enum sl_edge_loss)i), lost[i]);
    }
    return used > 0;
}
