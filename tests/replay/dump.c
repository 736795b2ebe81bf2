/*
 * dump.c - reads a dump of CUPTI buffers and replays them as buffers of the simulated CUPTI.
 *
 * One thread. This reader was written from docs/cupti-dump.md and shares no code with the writer of
 * dumps. So reader and writer check each other. If a process was killed, its dump may end in the
 * middle of a chunk. The reader then plays the complete chunks.
 */
#include "dump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    FORMAT = 1,
    HEADER_BYTES = 64,
    CHUNK_BYTES = 16,
    KINDS = 1,
    DEVICE = 2,
    BUFFER = 4,
    DROPPED = 5,
    TICKS = 7,
    DEVICE_BYTES = 344,
    BUFFER_BYTES = 48,
    MAX_KINDS = 256,
    MIN_RECORD = 8, /* smallest size of a record in bytes: the kind, and at least one field */
    MAX_RECORD = 4096,
    TICKS_BYTES = 24
};

/* A time counts as CLOCK_REALTIME if it is at most this long before the dump's start or after its
 * end. So records may be this much older than the dump, and the wall clock may have been set by
 * this much. */
#define SLACK_NS 3600000000000ull

struct chunk {
    uint32_t type;
    const uint8_t *at;
    uint64_t bytes;
};

struct part { /* one of the four parts of a buffer (docs/cupti-dump.md) */
    const uint8_t *at;
    size_t bytes;
};

struct reader {
    const uint8_t *file;
    size_t size, at;
    uint32_t record_bytes[MAX_KINDS];
    struct {
        uint64_t ticks, ns, rate; /* a tick value, the CLOCK_REALTIME at that moment in ns, and the
                                     ns per tick as 32.32 fixed point (0: unknown) */
    } line;                       /* converts ticks to ns; valid for later chunks of the file */
    uint64_t first_ns, last_ns;   /* times of the dump's start and of its latest buffer */
    uint64_t records, unplaced;
    bool is_unplaced; /* the current record has a time that cannot be converted */
};

static uint32_t load32(const uint8_t *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static int refuse(const char *what)
{
    fprintf(stderr, "replay: the dump cannot be played: %s\n", what);
    return -EINVAL;
}

static int open_reader(struct reader *r, const uint8_t *file, size_t size)
{
    *r = (struct reader){.file = file, .size = size};
    if (size < HEADER_BYTES || memcmp(file, REPLAY_DUMP_MAGIC, 8) != 0) {
        return refuse("its header is cut");
    }
    if (load32(file + 8) != FORMAT) {
        return refuse("its format is newer than this program");
    }
    r->first_ns = load64(file + 24);
    r->at = load32(file + 12);
    return r->at >= HEADER_BYTES && r->at <= size ? 0 : refuse("its header is wrong");
}

/* Reads the next chunk. Returns false at the end of the dump, or if the dump ends inside the
 * chunk. */
static bool next_chunk(struct reader *r, struct chunk *c)
{
    if (r->size - r->at < CHUNK_BYTES) {
        return false;
    }
    const uint8_t *head = r->file + r->at;

    *c = (struct chunk){load32(head), head + CHUNK_BYTES, load64(head + 8)};
    r->at += CHUNK_BYTES;
    if (c->bytes > r->size - r->at) {
        return false;
    }
    r->at += c->bytes;
    return true;
}

static void read_kinds(struct reader *r, const struct chunk *c)
{
    for (uint64_t at = 0; at + 8 <= c->bytes; at += 8) {
        uint32_t kind = load32(c->at + at);

        uint32_t bytes = load32(c->at + at + 4);

        if (kind < MAX_KINDS && bytes >= MIN_RECORD && bytes <= MAX_RECORD) {
            r->record_bytes[kind] = bytes;
        }
    }
}

static void read_device(const struct chunk *c, struct sim_device_info *devices, uint32_t cap,
                        uint32_t *count)
{
    uint32_t v[14];

    for (int i = 0; i < 14; i++) {
        v[i] = load32(c->at + 4 * i);
    }
    if (v[0] >= cap) {
        return;
    }
    struct sim_device_info *d = &devices[v[0]];

    *d = (struct sim_device_info){
        .major = v[1],
        .minor = v[2],
        .multiprocessors = v[3],
        .max_threads_per_block = v[4],
        .max_threads_per_sm = v[5],
        .max_blocks_per_sm = v[6],
        .max_warps_per_sm = v[7],
        .max_registers_per_block = v[8],
        .max_registers_per_sm = v[9],
        .max_shared_per_block = v[10],
        .max_shared_per_sm = v[11],
        .warp_size = v[12],
        .core_clock_khz = v[13],
        .memory_bytes = load64(c->at + 56),
        .memory_bandwidth_kbps = load64(c->at + 64),
    };
    memcpy(d->uuid, c->at + 72, sizeof d->uuid);
    memcpy(d->name, c->at + 88, sizeof d->name);
    d->name[sizeof d->name - 1] = 0;
    *count = v[0] >= *count ? v[0] + 1 : *count;
}

int replay_dump_survey(const uint8_t *file, size_t size, struct sim_device_info *devices,
                       uint32_t cap, uint32_t *count, struct replay_span *span)
{
    struct reader r;
    struct chunk c;
    int err = open_reader(&r, file, size);

    if (err) {
        return err;
    }
    *count = 0;
    span->first_ns = span->last_ns = load64(file + 24);
    while (next_chunk(&r, &c)) {
        if (c.type == DEVICE && c.bytes >= DEVICE_BYTES) {
            read_device(&c, devices, cap, count);
        } else if (c.type == BUFFER && c.bytes >= BUFFER_BYTES) {
            /* All records in the buffer were made before syncline received the buffer, so this time
             * is later than all of them. */
            span->last_ns = load64(c.at + 8);
        }
    }
    return 0;
}

/* ---- playing of buffers ---- */

static bool take_part(const struct chunk *c, uint64_t *at, uint64_t bytes, struct part *part)
{
    if (bytes > c->bytes - *at) {
        return false;
    }
    *part = (struct part){c->at + *at, bytes};
    *at += (bytes + 7) & ~(uint64_t)7;
    return *at <= c->bytes;
}

/* Finds the record's text, if it has one. References are in the order of the records. */
static void find_text(const struct part *refs, const struct part *texts, size_t *ref, size_t record,
                      struct sim_raw_record *raw)
{
    for (; (*ref + 1) * 8 <= refs->bytes; ++*ref) {
        uint32_t at = load32(refs->at + *ref * 8), text = load32(refs->at + *ref * 8 + 4);

        if (at < record) {
            continue;
        }
        if (at + 8ull <= record + raw->size) {
            raw->has_text = true;
            raw->text_offset = (uint32_t)(at - record);
            /* Ignores an offset outside of the texts, which marks a missing text, and a text
             * without a final zero byte. */
            if (text < texts->bytes && memchr(texts->at + text, 0, texts->bytes - text)) {
                raw->text = (const char *)texts->at + text;
            }
        }
        return;
    }
}

static bool is_of_the_process(const struct reader *r, uint64_t ns)
{
    return ns + SLACK_NS >= r->first_ns && ns <= r->last_ns + SLACK_NS;
}

/* CUPTI's clock is CLOCK_REALTIME or the tick counter, and one buffer may have records of both.
 * Values of the two clocks differ by decades. A time that fits neither clock is left unchanged and
 * reported as unknown. */
static uint64_t real_time(void *user, uint64_t stamp)
{
    struct reader *r = user;
    uint64_t ns =
        r->line.ns +
        (uint64_t)(int64_t)((__int128)(int64_t)(stamp - r->line.ticks) * r->line.rate >> 32);

    if (is_of_the_process(r, stamp)) {
        return stamp;
    }
    if (r->line.rate && is_of_the_process(r, ns)) {
        return ns;
    }
    r->is_unplaced = true;
    return stamp;
}

static void play_record(struct reader *r, struct sim_raw_record *raw, const struct sim_probe *probe)
{
    raw->real_time = real_time;
    raw->user = r;
    r->is_unplaced = false;
    probe->raw(raw);
    r->records++;
    r->unplaced += r->is_unplaced;
}

static int play_buffer(struct reader *r, const struct chunk *c, const struct sim_probe *probe)
{
    uint64_t part = BUFFER_BYTES;
    struct part refs, texts, records;
    size_t ref = 0;

    if (!take_part(c, &part, load32(c->at + 40) * 8ull, &refs) ||
        !take_part(c, &part, load32(c->at + 44), &texts) ||
        !take_part(c, &part, load32(c->at + 28), &records)) {
        return refuse("a buffer is smaller than it says");
    }
    for (size_t at = 0, size; records.bytes - at >= 4; at += size) {
        uint32_t kind = load32(records.at + at);

        size = kind < MAX_KINDS ? r->record_bytes[kind] : 0;
        if (!size || size > records.bytes - at) {
            fprintf(stderr, "replay: the rest of a buffer is left out: kind %u is not known\n",
                    kind);
            break;
        }
        struct sim_raw_record raw = {
            .bytes = records.at + at, .kind = kind, .size = (uint32_t)size};

        find_text(&refs, &texts, &ref, at, &raw);
        play_record(r, &raw, probe);
    }
    return 0;
}

static void tell_unplaced(const struct reader *r)
{
    if (r->unplaced) {
        fprintf(stderr,
                "replay: %llu of %llu records have times of another clock than CLOCK_REALTIME, and "
                "the dump does not say what that was: they are not in the trace\n",
                (unsigned long long)r->unplaced, (unsigned long long)r->records);
    }
}

int replay_dump_play(const uint8_t *file, size_t size, const struct sim_probe *probe,
                     void (*wait_until)(uint64_t ns))
{
    struct reader r;
    struct chunk c;
    int err = open_reader(&r, file, size);

    while (!err && next_chunk(&r, &c)) {
        if (c.type == KINDS) {
            read_kinds(&r, &c);
        } else if (c.type == BUFFER && c.bytes >= BUFFER_BYTES) {
            r.last_ns = load64(c.at + 8);
            wait_until(r.last_ns);
            err = play_buffer(&r, &c, probe);
            probe->hand_over(0);
        } else if (c.type == DROPPED && c.bytes >= 16) {
            probe->hand_over(load64(c.at + 8));
        } else if (c.type == TICKS && c.bytes >= TICKS_BYTES) {
            r.line.ticks = load64(c.at);
            r.line.ns = load64(c.at + 8);
            r.line.rate = load64(c.at + 16);
        }
    }
    tell_unplaced(&r);
    return err;
}
