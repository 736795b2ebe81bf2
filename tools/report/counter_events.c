/*
 * counter_events.c - writes counters in the form of HTA's generate_trace_with_counters.
 *
 * Threads, memory: see counter_events.h.
 */
#include "report/counter_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/counters.h"

#define QUEUE     "Queue Length"
#define BANDWIDTH "Memcpy BW"
#define DIGITS    9

struct output {
    void (*write)(void *user, const char *text, size_t size);
    void *user;
};

static int put_points(const struct output *o, const struct sl_counter *counter, const char *name)
{
    char text[512], value[40], id[32] = "";
    int is_queue = !counter->name;

    if (is_queue)
        snprintf(id, sizeof(id), "\"id\": %" PRIu32 ", ", counter->stream);
    for (size_t i = 0; i < counter->series.points; i++) {
        const struct sl_series_point *p = &counter->series.point[i];
        uint64_t ns = p->ns - SL_REPORT_ORIGIN_NS;
        int size;

        if (!p->counts)
            continue;
        *sl_json_double(value, p->value, DIGITS) = '\0';
        size = snprintf(text, sizeof(text),
                        ",\n{\"ph\": \"C\", \"name\": \"%s\", %s\"pid\": %d, \"ts\": %" PRIu64
                        ".%03u, \"args\": {\"%s\": %s}}",
                        name, id, counter->device == SL_DEVICE_NONE ? -1 : counter->device,
                        ns / 1000, (unsigned)(ns % 1000), is_queue ? QUEUE : BANDWIDTH, value);
        if (size >= (int)sizeof(text))
            return 0;
        o->write(o->user, text, (size_t)size);
    }
    return 0;
}

static int put(void *user, const struct sl_report *report, const struct sl_recording *r,
               struct sl_counter *counter)
{
    const char *name = counter->name ? sl_report_name(report, counter->name) : QUEUE;
    size_t size = strlen(name);
    char *escaped = malloc(size * SL_JSON_ESCAPE_MAX + 1);
    int rc;

    (void)r;
    if (!escaped)
        return -ENOMEM;
    *sl_json_escape(escaped, name, size) = '\0';
    rc = put_points(user, counter, escaped);
    free(escaped);
    return rc;
}

int sl_counter_events_write(const struct sl_report *report, const struct sl_recording *r,
                            void (*write)(void *user, const char *text, size_t size), void *user)
{
    struct output o = {write, user};
    int rc = sl_counters_queues(report, r, put, &o);

    return rc ? rc : sl_counters_bandwidth(report, r, put, &o);
}
