/*
 * dump.c - writes raw CUPTI buffers to a file.
 *
 * Threads: the recorder thread, and after the end of the recorder thread the exiting thread.
 * Memory: mapped at opening.
 *
 * The recorder thread itself writes the file. So a slow disk delays CUPTI buffers, but no buffer is
 * missing from the dump. If writing fails, the file ends after the last complete chunk.
 */
#include "collect/cupti/dump.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "collect/cupti/dump_file.h"
#include "collect/cupti/layout.h"

#define MAX_REFS   16384u /* limit per buffer; no buffer of 512 KiB has more records with a text */
#define TEXT_SLOTS 4096u
#define TEXT_BYTES (1u << 20)

_Static_assert(sizeof(struct sl_cupti_dump_header) == 64, "the dump's format has this size");
_Static_assert(sizeof(struct sl_cupti_dump_device) == 344, "the dump's format has this size");
_Static_assert(sizeof(struct sl_cupti_dump_buffer) == 48, "the dump's format has this size");

struct known_text {
    uint64_t buffer; /* number of the buffer in which the address was seen; in a later buffer, the
                      * address may point to another text */
    uint64_t address;
    uint32_t text;
};

struct sl_cupti_dump {
    struct sl_cupti_dump_options opt;
    const struct sl_cupti_layout *layout;
    struct sl_cupti_dump_file file;
    uint64_t buffers, records, texts_missing;
    uint64_t devices_told;     /* bit mask of the devices that were written */
    struct sl_clock_line line; /* the conversion of ticks that was written last */
    int is_line_told;

    /* Number and bytes of the texts of the current buffer. */
    uint32_t refs, text_bytes;
    struct sl_cupti_dump_ref ref[MAX_REFS];
    struct known_text known[TEXT_SLOTS];
    char texts[TEXT_BYTES];
};

static void write_one(struct sl_cupti_dump *d, enum sl_cupti_dump_type type, const void *data,
                      size_t bytes)
{
    const struct iovec piece = {(void *)data, bytes};

    sl_cupti_dump_file_write(&d->file, type, &piece, 1);
}

static void write_end(struct sl_cupti_dump *d, enum sl_cupti_dump_end_reason reason)
{
    const struct sl_cupti_dump_end end = {
        .buffers = d->buffers,
        .records = d->records,
        .texts_missing = d->texts_missing,
        .reason = (uint32_t)reason,
    };

    write_one(d, SL_CUPTI_DUMP_END, &end, sizeof(end));
    sl_cupti_dump_file_close(&d->file);
}

/* ---- texts ---- */

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof(v));
    return v;
}

/* Writes the offset of the text among the buffer's texts; adds the text if it is new. */
static int place_text(struct sl_cupti_dump *d, uint64_t address, uint32_t *text)
{
    uint64_t slot = (address * 0x9e3779b97f4a7c15u) >> 40;
    struct known_text *k = &d->known[slot % TEXT_SLOTS];
    size_t length;
    int err;

    if (k->buffer != d->buffers || k->address != address) {
        const char *from = (const char *)(uintptr_t)address;

        err = sl_foreign_text_measure(from, d->opt.can_read, &length);
        if (err)
            return err;
        if (length + 1 > TEXT_BYTES - d->text_bytes)
            return -ENOBUFS;
        *k = (struct known_text){d->buffers, address, d->text_bytes};
        memcpy(d->texts + d->text_bytes, from, length);
        d->texts[d->text_bytes + length] = '\0';
        d->text_bytes += (uint32_t)length + 1;
    }
    *text = k->text;
    return 0;
}

static void refer(struct sl_cupti_dump *d, const uint8_t *data, size_t offset)
{
    uint64_t address = load64(data + offset);
    uint32_t text = SL_CUPTI_DUMP_NO_TEXT;

    if (!address)
        return;
    if (d->refs == MAX_REFS || place_text(d, address, &text))
        d->texts_missing++;
    if (d->refs < MAX_REFS)
        d->ref[d->refs++] = (struct sl_cupti_dump_ref){(uint32_t)offset, text};
}

/* Collects the texts of records whose kind the size table knows. Returns the number of bytes of
 * these records. */
static size_t walk(struct sl_cupti_dump *d, const uint8_t *data, size_t valid, uint32_t *records)
{
    size_t at = 0, size;
    uint32_t kind;

    d->refs = d->text_bytes = 0;
    for (*records = 0; valid - at >= sizeof(kind); at += size, ++*records) {
        memcpy(&kind, data + at, sizeof(kind));
        size = sl_cupti_layout_size(d->layout, kind);
        if (size == 0 || size > valid - at)
            break;
        if (kind == SL_CUPTI_KIND_CONCURRENT_KERNEL || kind == SL_CUPTI_KIND_KERNEL)
            refer(d, data, at + d->layout->kernel->name);
        else if (kind == SL_CUPTI_KIND_NAME)
            refer(d, data, at + d->layout->name->name);
    }
    return at;
}

/* ---- chunks ---- */

static void tell_device(struct sl_cupti_dump *d, const struct sl_device *from)
{
    struct sl_cupti_dump_device device = {
        .id = from->id,
        .compute_major = from->compute_major,
        .compute_minor = from->compute_minor,
        .multiprocessors = from->multiprocessors,
        .max_threads_per_block = from->max_threads_per_block,
        .max_threads_per_sm = from->max_threads_per_sm,
        .max_blocks_per_sm = from->max_blocks_per_sm,
        .max_warps_per_sm = from->max_warps_per_sm,
        .max_registers_per_block = from->max_registers_per_block,
        .max_registers_per_sm = from->max_registers_per_sm,
        .max_shared_per_block = from->max_shared_per_block,
        .max_shared_per_sm = from->max_shared_per_sm,
        .warp_size = from->warp_size,
        .core_clock_khz = from->core_clock_khz,
        .memory_bytes = from->memory_bytes,
        .memory_bandwidth_kbps = from->memory_bandwidth_kbps,
    };

    memcpy(device.uuid, from->uuid, sizeof(device.uuid));
    memcpy(device.name, from->name, sizeof(device.name));
    write_one(d, SL_CUPTI_DUMP_DEVICE, &device, sizeof(device));
}

/* The decoder queries a device when a record names it, so a new device is written with the next
 * buffer. */
static void tell_new_devices(struct sl_cupti_dump *d)
{
    for (uint32_t i = 0; d->opt.devices && i < SL_DEVICE_MAX; i++) {
        const struct sl_device *device = &d->opt.devices->device[i];

        if (device->known && !(d->devices_told >> i & 1)) {
            d->devices_told |= (uint64_t)1 << i;
            tell_device(d, device);
        }
    }
}

void sl_cupti_dump_buffer(struct sl_cupti_dump *d, const uint8_t *data, size_t valid,
                          uint32_t stream)
{
    struct sl_cupti_dump_buffer head;

    if (!d || d->file.own.fd < 0)
        return;
    tell_new_devices(d);
    head = (struct sl_cupti_dump_buffer){
        .number = ++d->buffers,
        .realtime_ns = sl_clock_now(),
        .monotonic_ns = sl_clock_monotonic(),
        .stream = stream,
        .valid = (uint32_t)valid,
    };
    head.known = (uint32_t)walk(d, data, valid, &head.records);
    head.refs = d->refs;
    head.text_bytes = d->text_bytes;
    const struct iovec piece[] = {
        {&head, sizeof(head)},
        {d->ref, d->refs * sizeof(*d->ref)},
        {d->texts, d->text_bytes},
        {(void *)data, valid},
    };
    if (d->file.bytes + sizeof(head) + d->refs * sizeof(*d->ref) + d->text_bytes + valid >
        d->opt.cap_bytes) {
        d->buffers--;
        sl_log(SL_LOG_WARN,
               "SYNCLINE_DUMP_CUPTI: %s has reached its limit of %llu MiB: later records are not "
               "dumped; the traces are not affected",
               d->file.path, (unsigned long long)(d->file.bytes >> 20));
        write_end(d, SL_CUPTI_DUMP_FULL);
        return;
    }
    d->records += head.records;
    sl_cupti_dump_file_write(&d->file, SL_CUPTI_DUMP_BUFFER, piece, 4);
}

void sl_cupti_dump_dropped(struct sl_cupti_dump *d, uint64_t records)
{
    const struct sl_cupti_dump_dropped dropped = {d ? d->buffers : 0, records};

    if (d && d->file.own.fd >= 0)
        write_one(d, SL_CUPTI_DUMP_DROPPED, &dropped, sizeof(dropped));
}

void sl_cupti_dump_clock(struct sl_cupti_dump *d, int64_t offset_ns, uint64_t uncertainty_ns)
{
    struct sl_cupti_dump_clock clock = {.uncertainty_ns = uncertainty_ns};

    if (!d || d->file.own.fd < 0 || uncertainty_ns == UINT64_MAX)
        return;
    clock.realtime_ns = sl_clock_now();
    clock.monotonic_ns = sl_clock_monotonic();
    clock.cupti_ns = clock.realtime_ns + (uint64_t)offset_ns;
    write_one(d, SL_CUPTI_DUMP_CLOCK, &clock, sizeof(clock));
}

void sl_cupti_dump_ticks(struct sl_cupti_dump *d)
{
    struct sl_clock_line line = {0};

    if (!d || d->file.own.fd < 0)
        return;
    if (sl_clock_get_line(&line))
        line = (struct sl_clock_line){0};
    if (d->is_line_told && line.ticks == d->line.ticks && line.ns == d->line.ns &&
        line.rate == d->line.rate)
        return;
    d->line = line;
    d->is_line_told = 1;
    write_one(d, SL_CUPTI_DUMP_TICKS, &(struct sl_cupti_dump_ticks){line.ticks, line.ns, line.rate},
              sizeof(struct sl_cupti_dump_ticks));
}

void sl_cupti_dump_end(struct sl_cupti_dump *d)
{
    if (!d || d->file.own.fd < 0)
        return;
    tell_new_devices(d);
    write_end(d, SL_CUPTI_DUMP_ENDED);
}

/* ---- opening ---- */

static void write_kinds(struct sl_cupti_dump *d)
{
    struct sl_cupti_dump_kind kind[SL_CUPTI_KIND_COUNT];
    size_t n = 0;

    for (uint32_t i = 1; i < SL_CUPTI_KIND_COUNT; i++) {
        if (sl_cupti_layout_size(d->layout, i))
            kind[n++] = (struct sl_cupti_dump_kind){i, sl_cupti_layout_size(d->layout, i)};
    }
    write_one(d, SL_CUPTI_DUMP_KINDS, kind, n * sizeof(*kind));
}

static void refuse(const char *path, int error)
{
    char text[128];

    if (error == -EEXIST)
        sl_log(SL_LOG_WARN,
               "SYNCLINE_DUMP_CUPTI: %s exists and is not overwritten; nothing is dumped, the "
               "traces are not affected; put %%p (the process id) in the name, or remove the file",
               path);
    else
        sl_log(SL_LOG_WARN,
               "SYNCLINE_DUMP_CUPTI: cannot create %s: %s; nothing is dumped, the traces are not "
               "affected",
               path, strerror_r(-error, text, sizeof(text)));
}

static int open_file(struct sl_cupti_dump *d)
{
    const struct sl_cupti_dump_header header = {
        .magic = SL_CUPTI_DUMP_MAGIC,
        .format = SL_CUPTI_DUMP_FORMAT,
        .header_bytes = sizeof(header),
        .cupti_version = d->opt.version,
        .pid = d->opt.pid,
        .realtime_ns = sl_clock_now(),
        .monotonic_ns = sl_clock_monotonic(),
    };

    return sl_cupti_dump_file_open(&d->file, d->opt.path, d->opt.pid, &header);
}

int sl_cupti_dump_open(struct sl_cupti_dump **out, const struct sl_cupti_dump_options *opt)
{
    struct sl_cupti_dump *d = sl_pages_map(sizeof(*d));
    int err = -ENOMEM;

    if (!d)
        goto fail_map;
    d->opt = *opt;
    if (!d->opt.can_read)
        d->opt.can_read = sl_foreign_text_can_read;
    d->layout = sl_cupti_layout_find(opt->version);
    err = d->layout ? open_file(d) : -ENOTSUP;
    if (err)
        goto fail_open;
    write_kinds(d);
    *out = d;
    return 0;

fail_open:
    sl_pages_unmap(d, sizeof(*d));
fail_map:
    refuse(opt->path, err);
    return err;
}
