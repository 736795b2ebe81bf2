/*
 * cupti_dump.c - CUPTI's buffers as they came, in a file.
 *
 * Threads: the collector, then the exiting thread once the collector has ended. Memory is mapped
 * once, at the opening.
 *
 * The collector itself writes: a slow disk then holds up CUPTI's buffers, which is the price of a
 * dump that has every buffer in it. What stands in a file that failed is whole chunks.
 */
#include "collect/cupti_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "collect/cupti_layout.h"

#define MAX_REFS   16384u /* no buffer of 512 KiB has more records with a text */
#define TEXT_SLOTS 4096u
#define TEXT_BYTES (1u << 20)
#define MAX_PARTS  8

_Static_assert(sizeof(struct sl_cupti_dump_header) == 64, "as documented");
_Static_assert(sizeof(struct sl_cupti_dump_device) == 344, "as documented");
_Static_assert(sizeof(struct sl_cupti_dump_buffer) == 48, "as documented");

struct known_text {
    uint64_t buffer; /* the slot is of this buffer; addresses are good for one */
    uint64_t address;
    uint32_t text;
};

struct sl_cupti_dump {
    struct sl_cupti_dump_options opt;
    const struct sl_cupti_layout *layout;
    char path[PATH_MAX];
    int fd; /* -1: over */
    uint64_t bytes, buffers, records, texts_missing;
    uint64_t devices_told; /* a bit each */

    /* of the buffer in hand */
    uint32_t refs, text_bytes;
    struct sl_cupti_dump_ref *ref;
    struct known_text *known;
    char *texts;
};

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~(uint64_t)7;
}

/* ---- the file ---- */

/* "%p" becomes the process id. */
static int make_path(char *out, size_t size, const struct sl_cupti_dump_options *opt)
{
    const char *mark = strstr(opt->path, "%p");
    int n;

    if (mark)
        n = snprintf(out, size, "%.*s%u%s", (int)(mark - opt->path), opt->path, opt->pid, mark + 2);
    else
        n = snprintf(out, size, "%s", opt->path);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* A new file for us alone, above the standard streams: a process that has closed those may go on
 * printing to them. */
static int create_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), moved;

    if (fd < 0)
        return -errno;
    if (fd > STDERR_FILENO)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0)
        moved = -errno;
    close(fd);
    return moved;
}

static void finish(struct sl_cupti_dump *d)
{
    close(d->fd);
    d->fd = -1;
}

static void fail(struct sl_cupti_dump *d, int error)
{
    char text[128];

    sl_log(SL_LOG_WARN,
           "SYNCLINE_DUMP_CUPTI: %s: %s; the dump ends here, whole as far as it goes, and the "
           "traces are not affected",
           d->path, strerror_r(-error, text, sizeof(text)));
    /* A chunk that was begun is no use to a reader. Should this fail too, the reader sees the cut.
     */
    if (ftruncate(d->fd, (off_t)d->bytes) != 0)
        sl_log(SL_LOG_DEBUG, "%s: its last chunk is cut", d->path);
    finish(d);
}

static int write_parts(int fd, struct iovec *part, int parts)
{
    while (parts > 0) {
        ssize_t n = writev(fd, part, parts);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        for (; parts > 0 && (size_t)n >= part->iov_len; part++, parts--)
            n -= (ssize_t)part->iov_len;
        if (parts > 0) {
            part->iov_base = (char *)part->iov_base + n;
            part->iov_len -= (size_t)n;
        }
    }
    return 0;
}

/* One chunk of up to four pieces, each padded. */
static void write_chunk(struct sl_cupti_dump *d, enum sl_cupti_dump_type type,
                        const struct iovec *piece, int pieces)
{
    static const char zeros[8];
    struct sl_cupti_dump_chunk chunk = {.type = (uint32_t)type};
    struct iovec part[1 + MAX_PARTS] = {{&chunk, sizeof(chunk)}};
    int parts = 1, err;

    for (int i = 0; i < pieces; i++) {
        size_t pad = padded(piece[i].iov_len) - piece[i].iov_len;

        part[parts++] = piece[i];
        if (pad)
            part[parts++] = (struct iovec){(void *)zeros, pad};
        chunk.bytes += piece[i].iov_len + pad;
    }
    err = write_parts(d->fd, part, parts);
    if (err)
        fail(d, err);
    else
        d->bytes += sizeof(chunk) + chunk.bytes;
}

static void write_one(struct sl_cupti_dump *d, enum sl_cupti_dump_type type, const void *data,
                      size_t bytes)
{
    const struct iovec piece = {(void *)data, bytes};

    write_chunk(d, type, &piece, 1);
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
}

/* ---- texts ---- */

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof(v));
    return v;
}

/* Where the text at this address stands among the buffer's texts, put there if it is new. */
static int place_text(struct sl_cupti_dump *d, uint64_t address, uint32_t *text)
{
    uint64_t slot = (address * 0x9e3779b97f4a7c15u) >> 40;
    struct known_text *k = &d->known[slot % TEXT_SLOTS];
    size_t length;
    int err;

    if (k->buffer != d->buffers || k->address != address) {
        const char *from = (const char *)(uintptr_t)address;

        err = sl_cupti_text_measure(from, d->opt.can_read, &length);
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
    uint32_t text;

    if (!address)
        return;
    if (d->refs == MAX_REFS || place_text(d, address, &text))
        d->texts_missing++;
    else
        d->ref[d->refs++] = (struct sl_cupti_dump_ref){(uint32_t)offset, text};
}

/* Notes the texts of the records that the table knows; returns the bytes of these. */
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

/* Decoding asks for them when a row names one: those of a buffer are known at the next. */
static void tell_new_devices(struct sl_cupti_dump *d)
{
    for (uint32_t i = 0; d->opt.devices && i < SL_DEVICE_MAX; i++) {
        const struct sl_device *device = &d->opt.devices->device[i];

        if (d->fd >= 0 && device->known && !(d->devices_told >> i & 1)) {
            d->devices_told |= (uint64_t)1 << i;
            tell_device(d, device);
        }
    }
}

void sl_cupti_dump_buffer(struct sl_cupti_dump *d, const uint8_t *data, size_t valid,
                          uint32_t stream)
{
    struct sl_cupti_dump_buffer head;

    if (!d || d->fd < 0)
        return;
    tell_new_devices(d);
    if (d->fd < 0)
        return;
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
    if (d->bytes + sizeof(head) + d->refs * sizeof(*d->ref) + d->text_bytes + valid >
        d->opt.cap_bytes) {
        d->buffers--;
        sl_log(SL_LOG_WARN,
               "SYNCLINE_DUMP_CUPTI: %s is %llu MiB large, which is the most: records that come "
               "later are not in it; the traces are not affected",
               d->path, (unsigned long long)(d->bytes >> 20));
        write_end(d, SL_CUPTI_DUMP_FULL);
        if (d->fd >= 0)
            finish(d);
        return;
    }
    d->records += head.records;
    write_chunk(d, SL_CUPTI_DUMP_BUFFER, piece, 4);
}

void sl_cupti_dump_dropped(struct sl_cupti_dump *d, uint64_t records)
{
    const struct sl_cupti_dump_dropped dropped = {d ? d->buffers : 0, records};

    if (d && d->fd >= 0)
        write_one(d, SL_CUPTI_DUMP_DROPPED, &dropped, sizeof(dropped));
}

void sl_cupti_dump_clock(struct sl_cupti_dump *d, int64_t offset_ns, uint64_t uncertainty_ns)
{
    struct sl_cupti_dump_clock clock = {.uncertainty_ns = uncertainty_ns};

    if (!d || d->fd < 0 || uncertainty_ns == UINT64_MAX)
        return;
    clock.realtime_ns = sl_clock_now();
    clock.monotonic_ns = sl_clock_monotonic();
    clock.cupti_ns = clock.realtime_ns + (uint64_t)offset_ns;
    write_one(d, SL_CUPTI_DUMP_CLOCK, &clock, sizeof(clock));
}

void sl_cupti_dump_end(struct sl_cupti_dump *d)
{
    if (!d || d->fd < 0)
        return;
    tell_new_devices(d);
    if (d->fd >= 0)
        write_end(d, SL_CUPTI_DUMP_ENDED);
    if (d->fd >= 0)
        finish(d);
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
               "traces are not affected; %%p in the name becomes the process id",
               path);
    else
        sl_log(SL_LOG_WARN,
               "SYNCLINE_DUMP_CUPTI: %s: %s; nothing is dumped, the traces are not affected", path,
               strerror_r(-error, text, sizeof(text)));
}

static int map_tables(struct sl_cupti_dump *d)
{
    d->ref = sl_pages_map(MAX_REFS * sizeof(*d->ref));
    d->known = sl_pages_map(TEXT_SLOTS * sizeof(*d->known));
    d->texts = sl_pages_map(TEXT_BYTES);
    return d->ref && d->known && d->texts ? 0 : -ENOMEM;
}

static void unmap_tables(struct sl_cupti_dump *d)
{
    sl_pages_unmap(d->ref, MAX_REFS * sizeof(*d->ref));
    sl_pages_unmap(d->known, TEXT_SLOTS * sizeof(*d->known));
    sl_pages_unmap(d->texts, TEXT_BYTES);
}

static int write_header(struct sl_cupti_dump *d)
{
    struct sl_cupti_dump_header header = {
        .magic = SL_CUPTI_DUMP_MAGIC,
        .format = SL_CUPTI_DUMP_FORMAT,
        .header_bytes = sizeof(header),
        .cupti_version = d->opt.version,
        .pid = d->opt.pid,
        .realtime_ns = sl_clock_now(),
        .monotonic_ns = sl_clock_monotonic(),
    };
    struct iovec part = {&header, sizeof(header)};

    d->bytes = sizeof(header);
    return write_parts(d->fd, &part, 1);
}

int sl_cupti_dump_open(struct sl_cupti_dump **out, const struct sl_cupti_dump_options *opt)
{
    struct sl_cupti_dump *d = sl_pages_map(sizeof(*d));
    int err = -ENOMEM;

    if (!d)
        goto fail_map;
    d->opt = *opt;
    if (!d->opt.can_read)
        d->opt.can_read = sl_cupti_text_can_read;
    err = make_path(d->path, sizeof(d->path), opt);
    if (err)
        goto fail_tables;
    d->layout = sl_cupti_layout_find(opt->version);
    err = d->layout ? map_tables(d) : -ENOTSUP;
    if (err)
        goto fail_tables;
    d->fd = create_file(d->path);
    err = d->fd;
    if (d->fd < 0)
        goto fail_tables;
    err = write_header(d);
    if (err)
        goto fail_header;
    write_kinds(d);
    *out = d;
    return 0;

fail_header:
    close(d->fd);
    unlink(d->path);
fail_tables:
    refuse(d->path[0] ? d->path : opt->path, err);
    unmap_tables(d);
    sl_pages_unmap(d, sizeof(*d));
    return err;
fail_map:
    refuse(opt->path, err);
    return err;
}
