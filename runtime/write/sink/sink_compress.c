/*
 * sink_compress.c - writes zstd frames, gzip members, or uncompressed bytes.
 *
 * Threads: one owner. Memory: the sink owns the compressor's state and the sink below.
 *
 * Each sync ends a frame (zstd) or a member (gzip), so a file is a sequence of frames or members.
 * All readers of the two formats read such a sequence as one stream. The file of a killed process
 * can be read up to the last sync. No other file of the library uses zlib or zstd.
 */
#include "write/sink/sink.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#ifndef ZSTD_STATIC_LINKING_ONLY
/* zstd.h then declares sequence producers; their unstable ABI is no problem, because our zstd is
 * linked statically */
#define ZSTD_STATIC_LINKING_ONLY
#endif
#include <zstd.h>

#include "base/pages.h"

#define OUTPUT_BYTES (256 * 1024)

struct compress_sink {
    struct sl_sink sink; /* must be first, because a sink is cast to this struct */
    struct sl_sink *below;
    enum sl_compression kind;
    int error;
    int open_frame; /* 1: bytes were written since the last sync */
    ZSTD_CCtx *zstd;
    /* Used for zstd, and set by the first write. told: 1 if the caller passes repetitions.
     * searched: 1 if zstd searches for repetitions. */
    int told, searched;
    const struct sl_match *match; /* repetitions in the block being compressed */
    size_t matches;
    z_stream gzip;
    unsigned char output[OUTPUT_BYTES];
};

static int pass_down(struct compress_sink *c, size_t size)
{
    if (size > 0 && !c->error)
        c->error = c->below->write(c->below, c->output, size);
    return c->error;
}

static int set_zstd(struct compress_sink *c, ZSTD_cParameter parameter, int value)
{
    return ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, parameter, value)) ? -EINVAL : 0;
}

static int zstd_run(struct compress_sink *c, const void *data, size_t size, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;

    do {
        ZSTD_outBuffer out = {c->output, sizeof(c->output), 0};

        left = ZSTD_compressStream2(c->zstd, &out, &in, end);
        if (ZSTD_isError(left))
            return c->error = -EIO;
        if (pass_down(c, out.pos))
            return c->error;
    } while (end == ZSTD_e_continue ? in.pos < in.size : left != 0);
    return 0;
}

/* zstd calls this function to get the repetitions of a block. If the block has no repetition, zstd
 * stores the whole block as literals (new bytes). */
static size_t tell_matches(void *state, ZSTD_Sequence *out, size_t capacity, const void *source,
                           size_t size, const void *dictionary, size_t dictionary_size, int level,
                           size_t window)
{
    const struct compress_sink *c = state;
    size_t i, covered = 0;

    (void)source, (void)dictionary, (void)dictionary_size, (void)level, (void)window;
    for (i = 0; i < c->matches && i + 1 < capacity; i++) {
        out[i].offset = c->match[i].offset;
        out[i].litLength = c->match[i].literals;
        out[i].matchLength = c->match[i].length;
        out[i].rep = 0;
        covered += c->match[i].literals + c->match[i].length;
    }
    /* The last entry has the remaining literals and ends the block. zstd refuses a block if the
     * lengths do not add up. */
    out[i] = (ZSTD_Sequence){0, (unsigned)(size - covered), 0, 0};
    return i + 1;
}

static int told_block(struct compress_sink *c, const void *data, size_t size,
                      const struct sl_match *match, size_t count)
{
    c->match = match;
    c->matches = count;
    /* The flush ends the block, so the data of the next call begins a new block. */
    return zstd_run(c, data, size, ZSTD_e_flush);
}

/*
 * A caller that has passed repetitions once must always pass them. Suppose that zstd 1.5.7 searches
 * some blocks of a frame itself, and gets repetitions for other blocks. Then the frame cannot be
 * decompressed, because zstd's fast search does not maintain the third repeated offset.
 */
static int begin_told(struct compress_sink *c)
{
    if (c->told || c->searched)
        return c->error;
    /* The caller's repetitions cover the whole block, so zstd must not split a block of 128 KiB. */
    if (set_zstd(c, ZSTD_c_searchForExternalRepcodes, ZSTD_ps_enable) ||
        set_zstd(c, ZSTD_c_blockSplitterLevel, 1))
        return c->error = -EIO;
    ZSTD_registerSequenceProducer(c->zstd, c, tell_matches);
    c->told = 1;
    return 0;
}

static int zstd_write_matched(struct sl_sink *sink, const void *data, size_t size,
                              const struct sl_match *match, size_t count)
{
    struct compress_sink *c = (struct compress_sink *)sink;

    if (c->error || begin_told(c))
        return c->error;
    if (!c->told)
        return sink->write(sink, data, size);
    c->open_frame = 1;
    return told_block(c, data, size, match, count);
}

static int gzip_run(struct compress_sink *c, const void *data, size_t size, int flush)
{
    int result = Z_OK;

    c->gzip.next_in = (Bytef *)(uintptr_t)data; /* zlib only reads the data */
    c->gzip.avail_in = (uInt)size;
    do {
        c->gzip.next_out = c->output;
        c->gzip.avail_out = sizeof(c->output);
        result = deflate(&c->gzip, flush);
        if (result == Z_STREAM_ERROR)
            return c->error = -EIO;
        if (pass_down(c, sizeof(c->output) - c->gzip.avail_out))
            return c->error;
    } while (flush == Z_FINISH ? result != Z_STREAM_END : c->gzip.avail_in > 0);
    if (flush == Z_FINISH)
        deflateReset(&c->gzip);
    return 0;
}

static int compress_write(struct sl_sink *sink, const void *data, size_t size)
{
    struct compress_sink *c = (struct compress_sink *)sink;
    const size_t piece = c->told ? ZSTD_BLOCKSIZE_MAX : 1 << 30; /* zlib counts in 32 bits */
    const char *at = data;

    while (size > 0 && !c->error) {
        size_t n = size < piece ? size : piece;

        c->open_frame = 1;
        if (c->told) {
            told_block(c, at, n, NULL, 0);
        } else if (c->kind == SL_COMPRESS_ZSTD) {
            c->searched = 1;
            zstd_run(c, at, n, ZSTD_e_continue);
        } else if (c->kind == SL_COMPRESS_GZIP) {
            gzip_run(c, at, n, Z_NO_FLUSH);
        } else {
            c->error = c->below->write(c->below, at, n);
        }
        at += n;
        size -= n;
    }
    return c->error;
}

static int compress_sync(struct sl_sink *sink)
{
    struct compress_sink *c = (struct compress_sink *)sink;

    if (c->error || !c->open_frame)
        return c->error;
    c->open_frame = 0;
    if (c->kind == SL_COMPRESS_ZSTD)
        zstd_run(c, NULL, 0, ZSTD_e_end);
    else if (c->kind == SL_COMPRESS_GZIP)
        gzip_run(c, NULL, 0, Z_FINISH);
    if (!c->error)
        c->error = c->below->sync(c->below);
    return c->error;
}

static int compress_close(struct sl_sink *sink, int complete)
{
    struct compress_sink *c = (struct compress_sink *)sink;
    int error, below_error;

    error = compress_sync(sink);
    below_error = c->below->close(c->below, complete && !error);
    if (c->kind == SL_COMPRESS_ZSTD)
        ZSTD_freeCCtx(c->zstd);
    else if (c->kind == SL_COMPRESS_GZIP)
        deflateEnd(&c->gzip);
    sl_pages_unmap(c, sizeof(*c));
    return error ? error : below_error;
}

/* ---- memory of the libraries: off the host's malloc ---- */

static void *zstd_alloc(void *unused, size_t bytes)
{
    (void)unused;
    return sl_pages_alloc(bytes);
}

static void pages_free(void *unused, void *memory)
{
    (void)unused;
    sl_pages_free(memory);
}

static void *zlib_alloc(void *unused, unsigned items, unsigned each)
{
    (void)unused;
    return sl_pages_alloc((size_t)items * each);
}

/*
 * By default, level 1 and the negative levels search 512 KiB back with a hash table of 2^13 or 2^14
 * entries. The distinct rows of one training step need more than 512 KiB, and rows that are held
 * for a while are even further apart. With 2 MiB and 2^16 entries, zstd finds the similar row of
 * the last step. Compression then takes less time, not more, and the files are 20 to 30 % smaller
 * (docs/measurements/record-path.md). Higher levels have sizes like these by default.
 */
static int start_zstd(struct compress_sink *c, int level)
{
    static const struct {
        ZSTD_cParameter parameter;
        int value;
    } fast[] = {{ZSTD_c_windowLog, 21}, {ZSTD_c_hashLog, 16}, {ZSTD_c_minMatch, 6}};
    int error;

    c->zstd = ZSTD_createCCtx_advanced((ZSTD_customMem){zstd_alloc, pages_free, NULL});
    if (!c->zstd)
        return -ENOMEM;
    error = set_zstd(c, ZSTD_c_compressionLevel, level ? level : 1);
    for (size_t i = 0; !error && level <= 1 && i < sizeof(fast) / sizeof(fast[0]); i++)
        error = set_zstd(c, fast[i].parameter, fast[i].value);
    if (!error)
        error = set_zstd(c, ZSTD_c_checksumFlag, 1);
    /* only low levels use the writer's repetitions, because zstd's own search at higher levels
     * finds more repetitions than the writer knows */
    if (level <= 1)
        c->sink.write_matched = zstd_write_matched;
    if (error)
        ZSTD_freeCCtx(c->zstd);
    return error;
}

static int start_gzip(struct compress_sink *c, int level)
{
    const int window_bits = 15, gzip_header = 16, memory_level = 8;
    int result;

    c->gzip.zalloc = zlib_alloc;
    c->gzip.zfree = pages_free;
    result = deflateInit2(&c->gzip, level ? level : 1, Z_DEFLATED, window_bits + gzip_header,
                          memory_level, Z_DEFAULT_STRATEGY);

    if (result == Z_OK)
        return 0;
    return result == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

int sl_sink_compress_open(struct sl_sink **out, struct sl_sink *below, enum sl_compression kind,
                          int level)
{
    struct compress_sink *c = sl_pages_map(sizeof(*c));
    int error = 0;

    if (!c)
        return -ENOMEM;
    if (kind == SL_COMPRESS_ZSTD)
        error = start_zstd(c, level);
    else if (kind == SL_COMPRESS_GZIP)
        error = start_gzip(c, level);
    else if (kind != SL_COMPRESS_NONE)
        error = -EINVAL;
    if (error) {
        sl_pages_unmap(c, sizeof(*c));
        return error;
    }
    c->kind = kind;
    c->below = below;
    c->sink.write = compress_write;
    c->sink.sync = compress_sync;
    c->sink.close = compress_close;
    *out = &c->sink;
    return 0;
}

int sl_sink_open(struct sl_sink **out, struct sl_folder *folder, const char *name,
                 enum sl_compression kind, int level)
{
    struct sl_sink *file;
    int error = sl_sink_file_open(&file, folder, name);

    if (error)
        return error;
    error = sl_sink_compress_open(out, file, kind, level);
    if (error)
        file->close(file, 0);
    return error;
}
