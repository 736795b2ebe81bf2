/* dump_test.c - dumps of raw CUPTI buffers. The tests read a dump byte by byte and check its
 * contents. Also tests invalid options, and how a dump ends. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/cupti/dump.h"
#include "unit/collect/cupti/record.h"
#include "unit/folder.h"

#define VERSION 130001u

static char path[128], said_path[128];
static struct sl_device_table devices;
static int standard_error;

static int set_up(void **state)
{
    int fd;

    assert_int_equal(folder_make(), 0);
    snprintf(path, sizeof path, "%s/dump", folder);
    snprintf(said_path, sizeof said_path, "%s/said", folder);
    fd = open(said_path, O_RDWR | O_CREAT, 0600);
    standard_error = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    memset(&devices, 0, sizeof devices);
    return 0;
}

static int tear_down(void **state)
{
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    return folder_remove();
}

struct file {
    uint8_t bytes[1 << 21];
    size_t size;
};

static const struct file *read_file(const char *name)
{
    static struct file f;
    FILE *from = fopen(name, "rb");

    assert_non_null(from);
    f.size = fread(f.bytes, 1, sizeof f.bytes, from);
    fclose(from);
    return &f;
}

/* Returns the number of lines on stderr. Each line must contain `text`. */
static int said(const char *text)
{
    static struct file copy;
    int lines = 0;

    copy = *read_file(said_path);
    copy.bytes[copy.size] = 0;
    for (char *at = (char *)copy.bytes, *end; (end = strchr(at, '\n')); at = end + 1, lines++) {
        *end = 0;
        assert_non_null(strstr(at, text));
    }
    return lines;
}

/* Returns the n-th chunk of a type, or NULL if there are fewer chunks of this type. Every chunk
 * must be complete. */
static const void *chunk(const struct file *f, uint32_t type, int n)
{
    struct sl_cupti_dump_chunk c;

    for (size_t at = sizeof(struct sl_cupti_dump_header); at < f->size; at += c.bytes) {
        assert_true(f->size - at >= sizeof c);
        memcpy(&c, f->bytes + at, sizeof c);
        at += sizeof c;
        assert_true(c.bytes <= f->size - at);
        assert_int_equal(c.bytes % 8, 0);
        if (c.type == type && n-- == 0)
            return f->bytes + at;
    }
    return NULL;
}

static struct sl_cupti_dump *dump_to(const char *name, uint64_t cap)
{
    const struct sl_cupti_dump_options opt = {
        .path = name, .version = VERSION, .pid = 77, .cap_bytes = cap, .devices = &devices};
    struct sl_cupti_dump *d;

    assert_int_equal(sl_cupti_dump_open(&d, &opt), 0);
    return d;
}

/* Adds three kernels, two of them with the same name, and a call between them. */
static void fill(struct record_rig *b, const char *one, const char *other)
{
    const char *names[] = {one, other, one};

    for (int i = 0; i < 3; i++) {
        uint8_t *r = record_add(b, SL_CUPTI_KIND_CONCURRENT_KERNEL);

        put64(r, b->layout->kernel->name, (uint64_t)(uintptr_t)names[i]);
        if (i == 0)
            record_add(b, SL_CUPTI_KIND_RUNTIME);
    }
}

static void what_stands_in_it(void **state)
{
    struct record_rig *b = record_open(VERSION, 0);
    char first[] = "first", second[] = "the second";
    struct sl_cupti_dump *d = dump_to(path, 1 << 20);
    const struct sl_cupti_dump_header *h;
    const struct sl_cupti_dump_buffer *head;
    const struct sl_cupti_dump_ref *ref;
    const struct file *f;
    const char *texts;
    struct stat st;

    fill(b, first, second);
    sl_cupti_dump_clock(d, -250, 40);
    sl_cupti_dump_buffer(d, b->buffer, b->valid, 9);
    devices.device[1] = (struct sl_device){.id = 1, .known = 1, .name = "GPU", .warp_size = 32};
    sl_cupti_dump_dropped(d, 5);
    strcpy(first, "gone!"); /* the next buffer has another name at this address */
    sl_cupti_dump_buffer(d, b->buffer, b->valid, 0);
    sl_cupti_dump_end(d);
    sl_cupti_dump_buffer(d, b->buffer, b->valid, 0); /* a call after the end does nothing */

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    f = read_file(path);
    h = (const void *)f->bytes;
    assert_memory_equal(h->magic, SL_CUPTI_DUMP_MAGIC, 8);
    assert_int_equal(h->format, 1);
    assert_int_equal(h->header_bytes, 64);
    assert_int_equal(h->cupti_version, VERSION);
    assert_int_equal(h->pid, 77);

    const struct sl_cupti_dump_kind *kind = chunk(f, SL_CUPTI_DUMP_KINDS, 0);
    assert_int_equal(kind[0].kind, SL_CUPTI_KIND_MEMCPY);
    assert_int_equal(kind[0].record_bytes, b->layout->record_size[SL_CUPTI_KIND_MEMCPY]);

    head = chunk(f, SL_CUPTI_DUMP_BUFFER, 0);
    assert_int_equal(head->number, 1);
    assert_int_equal(head->stream, 9);
    assert_int_equal(head->valid, b->valid);
    assert_int_equal(head->known, b->valid);
    assert_int_equal(head->records, 4);
    assert_int_equal(head->refs, 3);
    assert_int_equal(head->text_bytes, sizeof "first" + sizeof "the second");
    assert_true(head->realtime_ns >= h->realtime_ns && head->monotonic_ns >= h->monotonic_ns);
    ref = (const void *)(head + 1);
    texts = (const char *)(ref + 3);
    assert_string_equal(texts + ref[0].text, "first");
    assert_string_equal(texts + ref[1].text, "the second");
    assert_int_equal(ref[2].text, ref[0].text);
    assert_int_equal(ref[0].offset, b->layout->kernel->name);
    assert_memory_equal(texts + (head->text_bytes + 7) / 8 * 8, b->buffer, b->valid);

    head = chunk(f, SL_CUPTI_DUMP_BUFFER, 1);
    ref = (const void *)(head + 1);
    assert_string_equal((const char *)(ref + 3) + ref[0].text, "gone!");
    assert_null(chunk(f, SL_CUPTI_DUMP_BUFFER, 2));

    const struct sl_cupti_dump_device *device = chunk(f, SL_CUPTI_DUMP_DEVICE, 0);
    assert_int_equal(device->id, 1);
    assert_int_equal(device->warp_size, 32);
    assert_string_equal(device->name, "GPU");
    assert_null(chunk(f, SL_CUPTI_DUMP_DEVICE, 1));

    const struct sl_cupti_dump_clock *clock = chunk(f, SL_CUPTI_DUMP_CLOCK, 0);
    assert_int_equal(clock->realtime_ns - clock->cupti_ns, 250);
    assert_int_equal(clock->uncertainty_ns, 40);

    const struct sl_cupti_dump_dropped *dropped = chunk(f, SL_CUPTI_DUMP_DROPPED, 0);
    assert_int_equal(dropped->buffer, 1);
    assert_int_equal(dropped->records, 5);

    const struct sl_cupti_dump_end *end = chunk(f, SL_CUPTI_DUMP_END, 0);
    assert_int_equal(end->buffers, 2);
    assert_int_equal(end->records, 8);
    assert_int_equal(end->reason, SL_CUPTI_DUMP_ENDED);
    assert_int_equal(end->texts_missing, 0);
    assert_int_equal(said("nothing"), 0);
    record_close(b);
}

/* The test's clock. A tick is half a ns, and each reading is a second later than the previous
 * one. */
static uint64_t made_ns;

static uint64_t made_clock(void)
{
    return made_ns;
}

static uint64_t made_ticks(void)
{
    return made_ns * 2;
}

/* A chunk says how to convert ticks to time. It precedes the first buffer whose times are ticks,
 * and is written again when the conversion has changed. */
static void what_ticks_are(void **state)
{
    static const struct sl_clock_source source = {made_clock, made_clock, made_ticks};
    struct sl_cupti_dump *d = dump_to(path, 1 << 20);
    const struct sl_cupti_dump_ticks *ticks;
    const struct file *f;

    sl_clock_set_source(&source);
    sl_cupti_dump_ticks(d); /* the conversion is not known yet */
    sl_cupti_dump_ticks(d);
    for (made_ns = 7000000000; made_ns < 10000000000; made_ns += 1000000000) {
        sl_clock_calibrate();
        sl_cupti_dump_ticks(d);
        sl_cupti_dump_ticks(d);
    }
    sl_clock_set_source(NULL);
    sl_cupti_dump_end(d);
    f = read_file(path);
    ticks = chunk(f, SL_CUPTI_DUMP_TICKS, 0);
    assert_int_equal(ticks->rate, 0);
    ticks = chunk(f, SL_CUPTI_DUMP_TICKS, 1);
    assert_int_equal(ticks->rate, 1ull << 31);
    assert_int_equal(ticks->ns, 8000000000);
    assert_int_equal(ticks->ticks, 16000000000);
    ticks = chunk(f, SL_CUPTI_DUMP_TICKS, 2);
    assert_int_equal(ticks->ns, 9000000000);
    assert_null(chunk(f, SL_CUPTI_DUMP_TICKS, 3));
}

static void addresses_that_lead_nowhere(void **state)
{
    struct record_rig *b = record_open(VERSION, 0);
    struct sl_cupti_dump *d = dump_to(path, 1 << 20);
    const struct sl_cupti_dump_buffer *head;
    const struct file *f;

    fill(b, (const char *)(uintptr_t)0x10, NULL);
    sl_cupti_dump_buffer(d, b->buffer, b->valid, 0);
    sl_cupti_dump_end(d);
    f = read_file(path);
    head = chunk(f, SL_CUPTI_DUMP_BUFFER, 0);
    assert_int_equal(head->refs, 2); /* a NULL name is not written */
    assert_int_equal(((const struct sl_cupti_dump_ref *)(head + 1))->text, SL_CUPTI_DUMP_NO_TEXT);
    assert_int_equal(head->text_bytes, 0);
    assert_int_equal(head->valid, b->valid);
    assert_int_equal(
        ((const struct sl_cupti_dump_end *)chunk(f, SL_CUPTI_DUMP_END, 0))->texts_missing, 2);
    record_close(b);
}

/* A buffer has an unknown kind, or a truncated record. The dump contains all bytes of the buffer,
 * and the position up to which they were decoded. */
static void records_that_are_not_known(void **state)
{
    struct record_rig *b = record_open(VERSION, 0);
    struct sl_cupti_dump *d = dump_to(path, 1 << 20);
    const struct sl_cupti_dump_buffer *head;
    size_t known;

    fill(b, "first", "second");
    known = b->valid;
    put32(b->buffer, (uint16_t)b->valid, 999);
    b->valid += 24;
    sl_cupti_dump_buffer(d, b->buffer, b->valid, 0);
    sl_cupti_dump_buffer(d, b->buffer, known - 8, 0);
    sl_cupti_dump_end(d);
    head = chunk(read_file(path), SL_CUPTI_DUMP_BUFFER, 0);
    assert_int_equal(head->valid, b->valid);
    assert_int_equal(head->known, known);
    assert_int_equal(head->records, 4);
    head = chunk(read_file(path), SL_CUPTI_DUMP_BUFFER, 1);
    assert_int_equal(head->valid, known - 8);
    assert_int_equal(head->records, 3);
    record_close(b);
}

static void more_names_than_fit(void **state)
{
    struct record_rig *b = record_open(VERSION, 0);
    struct sl_cupti_dump *d = dump_to(path, 1ull << 30);
    char *name[20];
    const struct sl_cupti_dump_buffer *head;
    const struct sl_cupti_dump_ref *ref;
    const struct file *f;

    for (int i = 0; i < 20; i++) {
        name[i] = malloc(60001);
        memset(name[i], 'a' + i, 60000);
        name[i][60000] = 0;
        put64(record_add(b, SL_CUPTI_KIND_CONCURRENT_KERNEL), b->layout->kernel->name,
              (uint64_t)(uintptr_t)name[i]);
    }
    sl_cupti_dump_buffer(d, b->buffer, b->valid, 0);
    for (int i = 0; i < 20; i++)
        free(name[i]);
    sl_cupti_dump_end(d);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 1020000 && st.st_size < 1100000);
    f = read_file(path);
    head = chunk(f, SL_CUPTI_DUMP_BUFFER, 0);
    assert_int_equal(head->refs, 20);
    assert_int_equal(head->text_bytes, 17 * 60001);
    ref = (const void *)(head + 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ref[i].text, i < 17 ? (uint32_t)i * 60001 : SL_CUPTI_DUMP_NO_TEXT);
    record_close(b);
}

static void a_file_that_exists_stays(void **state)
{
    const struct sl_cupti_dump_options opt = {.path = path, .version = VERSION, .cap_bytes = 999};
    struct sl_cupti_dump *d = NULL;
    FILE *f = fopen(path, "w");

    fputs("mine", f);
    fclose(f);
    assert_int_equal(sl_cupti_dump_open(&d, &opt), -EEXIST);
    assert_null(d);
    assert_int_equal(said("exists and is not overwritten"), 1);
    assert_int_equal(read_file(path)->size, 4);
    sl_cupti_dump_buffer(d, (const uint8_t *)"", 0, 0);
    sl_cupti_dump_dropped(d, 1);
    sl_cupti_dump_clock(d, 0, 0);
    sl_cupti_dump_ticks(d);
    sl_cupti_dump_end(d);
}

static void what_cannot_be_opened(void **state)
{
    static char longer[PATH_MAX + 16];
    struct sl_cupti_dump_options opt = {.path = "/nowhere/dump", .version = VERSION};
    struct sl_cupti_dump *d = NULL;

    assert_int_equal(sl_cupti_dump_open(&d, &opt), -ENOENT);
    opt.path = path;
    opt.version = 17;
    assert_int_equal(sl_cupti_dump_open(&d, &opt), -ENOTSUP);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(said("nothing is dumped"), 2);
    /* The path in the option is too long, or becomes too long when the process id replaces %p. */
    memset(longer, 'p', sizeof(longer) - 1);
    opt = (struct sl_cupti_dump_options){.path = longer, .version = VERSION, .pid = 4000000000u};
    assert_int_equal(sl_cupti_dump_open(&d, &opt), -ENAMETOOLONG);
    memcpy(longer + PATH_MAX - 8, "%p", 3);
    assert_int_equal(sl_cupti_dump_open(&d, &opt), -ENAMETOOLONG);
}

static void the_bound(void **state)
{
    struct record_rig *b = record_open(VERSION, 0);
    struct sl_cupti_dump *d = dump_to(path, 2500);
    const struct sl_cupti_dump_end *end;
    const struct file *f;

    fill(b, "first", "second");
    for (int i = 0; i < 9; i++)
        sl_cupti_dump_buffer(d, b->buffer, b->valid, 0);
    sl_cupti_dump_end(d);
    f = read_file(path);
    end = chunk(f, SL_CUPTI_DUMP_END, 0);
    assert_int_equal(end->reason, SL_CUPTI_DUMP_FULL);
    assert_true(end->buffers >= 2 && end->buffers < 9);
    assert_non_null(chunk(f, SL_CUPTI_DUMP_BUFFER, (int)end->buffers - 1));
    assert_null(chunk(f, SL_CUPTI_DUMP_BUFFER, (int)end->buffers));
    assert_true(f->size < 2500 + 64);
    assert_int_equal(said("has reached its limit"), 1);
    record_close(b);
}

/* The disk is full, or a limit is reached. One line is printed, all chunks are complete, and the
 * dump does not continue. */
static void writing_fails(void **state)
{
    struct record_rig *b = record_open(VERSION, 0);
    struct rlimit before, tight;
    struct sl_cupti_dump *d;
    const struct file *f;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    fill(b, "first", "second");
    d = dump_to(path, 1 << 20);
    tight = before;
    tight.rlim_cur = 1500;
    setrlimit(RLIMIT_FSIZE, &tight);
    for (int i = 0; i < 5; i++)
        sl_cupti_dump_buffer(d, b->buffer, b->valid, 0);
    sl_cupti_dump_end(d);
    setrlimit(RLIMIT_FSIZE, &before);
    f = read_file(path);
    assert_non_null(chunk(f, SL_CUPTI_DUMP_BUFFER, 0));
    assert_null(chunk(f, SL_CUPTI_DUMP_END, 0));
    assert_int_equal(said("the dump ends here, the traces are not affected"), 1);
    record_close(b);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_stands_in_it),
        CASE(what_ticks_are),
        CASE(addresses_that_lead_nowhere),
        CASE(records_that_are_not_known),
        CASE(more_names_than_fit),
        CASE(a_file_that_exists_stays),
        CASE(what_cannot_be_opened),
        CASE(the_bound),
        CASE(writing_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
