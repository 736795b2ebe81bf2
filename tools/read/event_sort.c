/*
 * event_sort.c - sorts events in runs, writes the sorted runs to a temporary file, and merges the
 * runs with a heap.
 *
 * Threads, memory: see event_sort.h.
 */
#include "read/event_sort.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "read/temp_file.h"

#define RUNS_MAX 4096u

struct run {
    uint64_t first, count;   /* offset and number of the run's events in the file */
    uint64_t at, left;       /* offset and number of the events of the file that are not read yet */
    struct sl_event *buffer; /* the next events of the run, in a part of the memory at
                                sl_event_sort.event */
    size_t pos, fill;
};

struct sl_event_sort {
    sl_event_order_fn order;
    struct sl_event *event; /* events of the run that is being collected; during the merge, the
                               buffers of all runs */
    size_t run_events, used;
    uint64_t count;
    FILE *file; /* the temporary file; NULL if none was needed */
    int error;
    struct run *run;
    unsigned runs;
    size_t slice;   /* number of events in each run's buffer */
    unsigned *heap; /* runs with events left, ordered by their next event */
    unsigned heap_size;
};

int sl_event_sort_create(struct sl_event_sort **out, size_t run_events, sl_event_order_fn order)
{
    struct sl_event_sort *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->order = order;
    s->run_events = run_events;
    /* A page uses memory only after the first access, so a small trace needs little memory. */
    s->event = sl_pages_map(run_events * sizeof(*s->event));
    s->run = calloc(RUNS_MAX, sizeof(*s->run));
    s->heap = calloc(RUNS_MAX, sizeof(*s->heap));
    if (!s->event || !s->run || !s->heap) {
        sl_event_sort_destroy(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}

void sl_event_sort_destroy(struct sl_event_sort *s)
{
    if (!s)
        return;
    if (s->file)
        fclose(s->file);
    free(s->heap);
    free(s->run);
    sl_pages_unmap(s->event, s->run_events * sizeof(*s->event));
    free(s);
}

static FILE *open_file(void)
{
    int fd = sl_temp_file();

    if (fd >= 0)
        return fdopen(fd, "w+");
    errno = -fd;
    return NULL;
}

static int write_run(struct sl_event_sort *s)
{
    if (!s->file)
        s->file = open_file();
    if (!s->file)
        return -errno;
    if (s->runs == RUNS_MAX)
        return -EFBIG;
    qsort(s->event, s->used, sizeof(*s->event), s->order);
    errno = 0;
    if (fwrite(s->event, sizeof(*s->event), s->used, s->file) != s->used || fflush(s->file) != 0)
        return errno ? -errno : -EIO;
    s->run[s->runs++] = (struct run){.first = s->count - s->used, .count = s->used};
    s->used = 0;
    return 0;
}

int sl_event_sort_put(struct sl_event_sort *s, const struct sl_event *ev)
{
    if (s->error)
        return s->error;
    if (s->used == s->run_events && (s->error = write_run(s)))
        return s->error;
    s->event[s->used++] = *ev;
    s->count++;
    return 0;
}

/* Loads the run's next event if needed. Returns 1 if an event was read, 0 if the run has ended, or
 * -errno. */
static int fill(struct sl_event_sort *s, struct run *r)
{
    size_t want = r->left < s->slice ? (size_t)r->left : s->slice;

    if (r->pos < r->fill)
        return 1;
    if (want == 0 || !s->file)
        return 0;
    errno = 0;
    if (fseeko(s->file, (off_t)(r->at * sizeof(*r->buffer)), SEEK_SET) != 0 ||
        fread(r->buffer, sizeof(*r->buffer), want, s->file) != want)
        return errno ? -errno : -EIO;
    r->at += want;
    r->left -= want;
    r->pos = 0;
    r->fill = want;
    return 1;
}

static int before(const struct sl_event_sort *s, unsigned a, unsigned b)
{
    const struct run *x = &s->run[a], *y = &s->run[b];

    return s->order(&x->buffer[x->pos], &y->buffer[y->pos]) < 0;
}

static void sift_down(struct sl_event_sort *s, unsigned i)
{
    for (;;) {
        unsigned child = 2 * i + 1, run = s->heap[i];

        if (child >= s->heap_size)
            return;
        if (child + 1 < s->heap_size && before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s, s->heap[child], run))
            return;
        s->heap[i] = s->heap[child];
        s->heap[child] = run;
        i = child;
    }
}

int sl_event_sort_end(struct sl_event_sort *s)
{
    if (s->error)
        return s->error;
    if (s->runs == 0) {
        qsort(s->event, s->used, sizeof(*s->event), s->order);
        s->run[0] = (struct run){.buffer = s->event};
        s->runs = 1;
    } else {
        if (s->used && (s->error = write_run(s)))
            return s->error;
        s->slice = s->run_events / s->runs ? s->run_events / s->runs : 1;
        if (s->slice * s->runs > s->run_events)
            return s->error = -EFBIG;
        for (unsigned i = 0; i < s->runs; i++)
            s->run[i].buffer = s->event + i * s->slice;
    }
    return sl_event_sort_rewind(s);
}

int sl_event_sort_rewind(struct sl_event_sort *s)
{
    if (s->error)
        return s->error;
    s->heap_size = 0;
    for (unsigned i = 0; i < s->runs; i++) {
        struct run *r = &s->run[i];
        int rc;

        r->at = r->first;
        r->left = r->count;
        r->pos = 0;
        r->fill = s->file ? 0 : s->used;
        rc = fill(s, r);
        if (rc < 0)
            return s->error = rc;
        if (rc)
            s->heap[s->heap_size++] = i;
    }
    for (unsigned i = s->heap_size / 2; i-- > 0;)
        sift_down(s, i);
    return 0;
}

int sl_event_sort_next(struct sl_event_sort *s, struct sl_event *out)
{
    struct run *r;
    int rc;

    if (s->error || s->heap_size == 0)
        return s->error;
    r = &s->run[s->heap[0]];
    *out = r->buffer[r->pos++];
    if (s->heap_size == 1 && r->pos < r->fill)
        return 1;
    rc = fill(s, r);
    if (rc < 0)
        s->error = rc; /* the next call reports the error, because this event is valid */
    else if (rc == 0)
        s->heap[0] = s->heap[--s->heap_size];
    if (!s->error)
        sift_down(s, 0);
    return 1;
}

uint64_t sl_event_sort_count(const struct sl_event_sort *s)
{
    return s->count;
}
