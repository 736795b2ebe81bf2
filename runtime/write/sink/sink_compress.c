/*
 * sink_compress.c - zstd frames, gzip members, or the bytes as they are.
 *
 * Threads: one owner. Memory: the sink owns the compressor's state and the sink below.
 *
 * Each sync ends a frame (zstd) or a member (gzip): a file is a row of them, all readers of the
 * two formats read such a row as one stream, and what a killed process leaves can be read up to
 * the last sync. The only file that knows zlib and zstd.
 */
#include "write/sink/sink.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#ifndef ZSTD_STATIC_LINKING_ONLY
#define ZSTD_STATIC_LINKING_ONLY /* sequence producers; our zstd is linked statically */
#endif
#include <zstd.h>

#define OUTPUT_BYTES (256 * 1024)

struct compress_sink {
    struct sl_sink sink; /* first: a sink is cast to this */
    struct sl_sink *below;
    enum sl_compression kind;
    int error;
    int open_frame; /* bytes were taken since the last sync */
    ZSTD_CCtx *zstd;
    /* zstd: the first write decides for the sink whether repetitions are told or searched. */
    int told, searched;
    const struct sl_match *match; /* of the block that is being compressed */
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

/* zstd asks for the repetitions of a block. Without any, the block is literals. */
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
    /* The rest, and the sign that the block ends. zstd refuses lengths that do not add up. */
    out[i] = (ZSTD_Sequence){0, (unsigned)(size - covered), 0, 0};
    return i + 1;
}

static int told_block(struct compress_sink *c, const void *data, size_t size,
                      const struct sl_match *match, size_t count)
{
    c->match = match;
    c->matches = count;
    /* Flushed, so that the next block is what is handed over next, no more. */
    return zstd_run(c, data, size, ZSTD_e_flush);
}

/*
 * Once told, always told: a frame whose blocks are partly searched by zstd 1.5.7 and partly told
 * cannot be decompressed, as its fast search does not keep the third of the repeated offsets.
 */
static int begin_told(struct compress_sink *c)
{
    if (c->told || c->searched)
        return c->error;
    /* What is told of a block holds for the whole of it: zstd must not split one of 128 KiB. */
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

    c->gzip.next_in = (Bytef *)(uintptr_t)data; /* zlib reads only */
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
    free(c);
    return error ? error : below_error;
}

/*
 * Level 1 and the negative ones look back 512 KiB through a table of 2^13 or 2^14 places. A
 * training step's worth of distinct rows is larger than that, and rows that are held for a while
 * stand further apart still: with 2 MiB and 2^16 places zstd finds the last step's row, which costs
 * less time, not more, and makes files 20 to 30 % smaller (docs/measurements/record-path.md).
 * Higher levels have such sizes by themselves.
 */
static int start_zstd(struct compress_sink *c, int level)
{
    int error;

    c->zstd = ZSTD_createCCtx();
    if (!c->zstd)
        return -ENOMEM;
    error = set_zstd(c, ZSTD_c_compressionLevel, level ? level : 1);
    if (!error && level <= 1) {
        error = set_zstd(c, ZSTD_c_windowLog, 21);
        if (!error)
            error = set_zstd(c, ZSTD_c_hashLog, 16);
        if (!error)
            error = set_zstd(c, ZSTD_c_minMatch, 6);
    }
    if (!error)
        error = set_zstd(c, ZSTD_c_checksumFlag, 1);
    if (level <= 1) /* higher levels search better than anybody tells them */
        c->sink.write_matched = zstd_write_matched;
    if (error)
        ZSTD_freeCCtx(c->zstd);
    return error;
}

static int start_gzip(struct compress_sink *c, int level)
{
    const int window_bits = 15, gzip_header = 16, memory_level = 8;
    int result = deflateInit2(&c->gzip, level ? level : 1, Z_DEFLATED, window_bits + gzip_header,
                              memory_level, Z_DEFAULT_STRATEGY);

    if (result == Z_OK)
        return 0;
    return result == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

int sl_sink_compress_open(struct sl_sink **out, struct sl_sink *below, enum sl_compression kind,
                          int level)
{
    struct compress_sink *c = calloc(1, sizeof(*c));
    int error = 0;

    if (!c)
        return -ENOMEM;
    if (kind == SL_COMPRESS_ZSTD)
        error = start_zstd(c, level);
    else if (kind == SL_COMPRESS_GZIP)
        error = start_gzip(c, level);
    else if (kind != SL_COMPRESS_NONE)
        error = -EINVAL;
    if (error)
        goto fail_start;
    c->kind = kind;
    c->below = below;
    c->sink.write = compress_write;
    c->sink.sync = compress_sync;
    c->sink.close = compress_close;
    *out = &c->sink;
    return 0;

fail_start:
    free(c);
    return error;
}
