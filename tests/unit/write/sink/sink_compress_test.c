/* sink_compress_test.c - compresses in each format. Each frame can be decompressed on its own and
 * gives the same bytes. */
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "write/sink/sink.h"

#define TEXT_BYTES (3 * 1024 * 1024)

static char *text;

static int make_text(void **state)
{
    size_t i;

    text = malloc(TEXT_BYTES);
    for (i = 0; i < TEXT_BYTES; i++)
        text[i] = "{\"ph\":\"X\",\"ts\":0123456789}\n"[i * i % 1009 % 26];
    return 0;
}

static int free_text(void **state)
{
    free(text);
    return 0;
}

static size_t unzstd(void *out, size_t room, const void *data, size_t size)
{
    size_t n = ZSTD_decompress(out, room, data, size);

    assert_false(ZSTD_isError(n));
    return n;
}

/* Decompresses all members of a gzip file, like `gzip -d`. */
static size_t ungzip(void *out, size_t room, const void *data, size_t size)
{
    z_stream z = {0};
    int result;

    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    while (z.avail_in > 0) {
        result = inflate(&z, Z_NO_FLUSH);
        assert_true(result == Z_STREAM_END || result == Z_OK);
        if (result == Z_STREAM_END && z.avail_in > 0) {
            Bytef *next = z.next_in, *to = z.next_out;
            uInt left = z.avail_in, space = z.avail_out;

            inflateReset(&z);
            z.next_in = next;
            z.avail_in = left;
            z.next_out = to;
            z.avail_out = space;
        }
    }
    inflateEnd(&z);
    return room - z.avail_out;
}

static size_t plain(void *out, size_t room, const void *data, size_t size)
{
    assert_true(size <= room);
    memcpy(out, data, size);
    return size;
}

struct format {
    enum sl_compression kind;
    int level;
    size_t (*read)(void *out, size_t room, const void *data, size_t size);
};

static const struct format formats[] = {
    {SL_COMPRESS_ZSTD, 0, unzstd}, {SL_COMPRESS_ZSTD, -5, unzstd}, {SL_COMPRESS_ZSTD, 19, unzstd},
    {SL_COMPRESS_GZIP, 0, ungzip}, {SL_COMPRESS_GZIP, 9, ungzip},  {SL_COMPRESS_NONE, 0, plain},
};

static void each_sync_makes_all_before_it_readable(void **state)
{
    char *back = malloc(TEXT_BYTES);
    size_t i;

    for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct sl_sink *memory, *s;
        size_t done = 0, piece = 1, size;
        const void *data;

        assert_int_equal(sl_sink_memory_open(&memory), 0);
        assert_int_equal(sl_sink_compress_open(&s, memory, formats[i].kind, formats[i].level), 0);
        while (done < TEXT_BYTES) {
            size_t n = piece < TEXT_BYTES - done ? piece : TEXT_BYTES - done;

            assert_int_equal(s->write(s, text + done, n), 0);
            assert_int_equal(s->sync(s), 0);
            assert_int_equal(s->sync(s), 0); /* a sync without new bytes writes no frame */
            done += n;
            piece *= 13;
            sl_sink_memory_get(memory, &data, &size);
            assert_int_equal(formats[i].read(back, TEXT_BYTES, data, size), done);
            assert_memory_equal(back, text, done);
        }
        assert_int_equal(s->close(s, 1), 0);
    }
    free(back);
}

/* The caller tells the compressor where text is repeated, or the compressor finds this itself. Both
 * may occur in one sink, in any order. The decompressed bytes must be the same. */
static void told_repetitions_give_the_same_bytes(void **state)
{
    /* Writes 64 KiB of text, then the same text again. */
    const size_t half = 64 * 1024;
    const struct sl_match again = {(uint32_t)half, (uint32_t)half, (uint32_t)half, 0};
    char *twice = malloc(2 * half), *back = malloc(TEXT_BYTES * 2);
    int told_first;

    memcpy(twice, text, half);
    memcpy(twice + half, text, half);
    for (told_first = 0; told_first < 2; told_first++) {
        struct sl_sink *memory, *s;
        const void *data;
        size_t size, n = 0;
        int round;

        assert_int_equal(sl_sink_memory_open(&memory), 0);
        assert_int_equal(sl_sink_compress_open(&s, memory, SL_COMPRESS_ZSTD, 1), 0);
        if (!told_first)
            assert_int_equal(s->write(s, text, 1000), 0);
        for (round = 0; round < 3; round++) {
            assert_int_equal(s->write_matched(s, twice, 2 * half, &again, 1), 0);
            assert_int_equal(s->write(s, text, 300000), 0);
            assert_int_equal(s->write_matched(s, twice, 2 * half, &again, 1), 0);
            assert_int_equal(s->write_matched(s, text, 10, NULL, 0), 0);
            assert_int_equal(s->sync(s), 0);
        }
        sl_sink_memory_get(memory, &data, &size);
        assert_int_equal(unzstd(back, TEXT_BYTES * 2, data, size),
                         (told_first ? 0 : 1000) + 3 * (4 * half + 300010));
        n = told_first ? 0 : 1000;
        for (round = 0; round < 3; round++) {
            assert_memory_equal(back + n, twice, 2 * half);
            assert_memory_equal(back + n + 2 * half, text, 300000);
            assert_memory_equal(back + n + 2 * half + 300000, twice, 2 * half);
            assert_memory_equal(back + n + 4 * half + 300000, text, 10);
            n += 4 * half + 300010;
        }
        assert_int_equal(s->close(s, 1), 0);
    }
    free(back);
    free(twice);
}

static struct sl_sink failing;
static int closed_complete = -1;

static int fail_write(struct sl_sink *sink, const void *data, size_t size)
{
    return -ENOSPC;
}

static int no_sync(struct sl_sink *sink)
{
    fail_msg("sync after a failed write");
    return 0;
}

static int note_close(struct sl_sink *sink, int complete)
{
    closed_complete = complete;
    return -ENOSPC;
}

static void a_failure_below_is_sticky_and_never_complete(void **state)
{
    size_t i;

    failing.write = fail_write;
    failing.sync = no_sync;
    failing.close = note_close;
    for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct sl_sink *s;

        assert_int_equal(sl_sink_compress_open(&s, &failing, formats[i].kind, formats[i].level), 0);
        s->write(s, text, 100);
        assert_int_equal(s->sync(s), -ENOSPC);
        assert_int_equal(s->write(s, text, 1), -ENOSPC);
        closed_complete = -1;
        assert_int_equal(s->close(s, 1), -ENOSPC);
        assert_int_equal(closed_complete, 0);
    }
}

static void a_wrong_level_leaves_the_sink_below_to_its_owner(void **state)
{
    struct sl_sink *s = NULL;

    closed_complete = -1;
    assert_int_equal(sl_sink_compress_open(&s, &failing, SL_COMPRESS_GZIP, 77), -EINVAL);
    assert_int_equal(closed_complete, -1);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sync_makes_all_before_it_readable),
        cmocka_unit_test(told_repetitions_give_the_same_bytes),
        cmocka_unit_test(a_failure_below_is_sticky_and_never_complete),
        cmocka_unit_test(a_wrong_level_leaves_the_sink_below_to_its_owner),
    };

    return cmocka_run_group_tests(tests, make_text, free_text);
}
