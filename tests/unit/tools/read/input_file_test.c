/*
 * input_file_test.c - reads files in each compression format: complete files, files of several
 * parts, truncated and damaged files.
 *
 * Threads: one, and the helper thread of read_ahead.c. The test uses some MiB of memory.
 */
#include "unit/test.h"
#include <errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "read/input_file.h"
#include "read/read_ahead.h"
#include "zstd.h"

#define TEXT_BYTES (3u << 20)
#define ROOM       (TEXT_BYTES + (1u << 20))

static char *text, *packed, *unpacked;
static int zstd_checksum = 1;
static char path[] = "/tmp/sl-input-XXXXXX";

static int setup(void **state)
{
    uint32_t random = 1;
    int fd = mkstemp(path);

    if (fd < 0)
        return -1;
    close(fd);
    text = malloc(TEXT_BYTES);
    packed = malloc(ROOM);
    unpacked = malloc(ROOM);
    /* The text is compressed to about a third, so that a frame has several blocks. */
    for (size_t i = 0; i < TEXT_BYTES; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)('a' + (random >> 24) % 6);
    }
    return text && packed && unpacked ? 0 : -1;
}

static int teardown(void **state)
{
    unlink(path);
    free(text);
    free(packed);
    free(unpacked);
    return 0;
}

static void save(const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

/* Appends text[from..to) to the packed data at `at`, as a gzip member or as a zstd frame with a
 * checksum. Returns the new size. */
static size_t pack(enum sl_input_format format, size_t at, size_t from, size_t to)
{
    if (format == SL_INPUT_ZSTD) {
        ZSTD_CCtx *c = ZSTD_createCCtx();
        size_t n;

        ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, zstd_checksum);
        n = ZSTD_compress2(c, packed + at, ROOM - at, text + from, to - from);
        ZSTD_freeCCtx(c);
        assert_false(ZSTD_isError(n));
        return at + n;
    }
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)text + from;
    z.avail_in = (uInt)(to - from);
    z.next_out = (Bytef *)packed + at;
    z.avail_out = (uInt)(ROOM - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return at + z.total_out;
}

/* Reads the whole file in pieces of `piece` bytes and compares it with the text. Returns the number
 * of bytes. */
static size_t read_all(size_t piece, int ahead, struct sl_input_status *status)
{
    struct sl_read_ahead *helper = NULL;
    struct sl_input *in;
    char why[256];
    size_t size = 0, n;

    assert_int_equal(sl_input_open(&in, path, why, sizeof(why)), 0);
    if (ahead)
        assert_int_equal(sl_read_ahead_start(&helper, in), 0);
    do {
        n = ahead ? sl_read_ahead_read(helper, unpacked + size, piece)
                  : sl_input_read(in, unpacked + size, piece);
        size += n;
    } while (n > 0 && size + piece <= ROOM);
    if (ahead)
        sl_read_ahead_get_status(helper, status);
    sl_read_ahead_stop(helper);
    if (!ahead)
        sl_input_get_status(in, status);
    sl_input_close(in);
    assert_true(size <= TEXT_BYTES);
    assert_memory_equal(unpacked, text, size);
    assert_int_equal(status->text_bytes, size);
    return size;
}

static void test_whole(void **state)
{
    static const size_t piece[] = {1u << 20, 100000, 777};
    struct sl_input_status s;

    for (int format = SL_INPUT_PLAIN; format <= SL_INPUT_ZSTD; format++) {
        size_t size = TEXT_BYTES;

        if (format != SL_INPUT_PLAIN) {
            size = pack((enum sl_input_format)format, 0, 0, 1000000);
            size = pack((enum sl_input_format)format, size, 1000000, 1000000); /* an empty part */
            size = pack((enum sl_input_format)format, size, 1000000, TEXT_BYTES);
        }
        save(format == SL_INPUT_PLAIN ? text : packed, size);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(read_all(piece[i / 2], i % 2, &s), TEXT_BYTES);
            assert_int_equal(s.format, format);
            assert_int_equal(s.end, SL_INPUT_WHOLE);
            assert_int_equal(s.frames, format == SL_INPUT_PLAIN ? 0 : 3);
            assert_int_equal(s.read_bytes, size);
            assert_int_equal(s.file_bytes, size);
            assert_string_equal(s.what, "");
        }
    }
}

/* The reader first looks at the beginning of the text without consuming it (peek). Afterwards the
 * whole text is read, in pieces. */
static void test_peek(void **state)
{
    static const size_t sizes[] = {TEXT_BYTES, SL_INPUT_PEEK_MAX, 5};
    struct sl_input *in;
    const char *begins;
    char why[256];

    for (int i = 0; i < 3; i++) {
        size_t wanted = sizes[i] < SL_INPUT_PEEK_MAX ? sizes[i] : SL_INPUT_PEEK_MAX, at = 0, n;

        save(packed, pack(SL_INPUT_ZSTD, 0, 0, sizes[i]));
        assert_int_equal(sl_input_open(&in, path, why, sizeof(why)), 0);
        assert_int_equal(sl_input_peek(in, &begins), wanted);
        assert_memory_equal(begins, text, wanted);
        for (; (n = sl_input_read(in, unpacked + at, 3)); at += n)
            assert_true(n <= 3);
        assert_int_equal(at, sizes[i]);
        assert_memory_equal(unpacked, text, at);
        sl_input_close(in);
    }
}

/* A frame without a checksum ends with its last block, exactly at the end of the reader's
 * buffer. */
static void test_no_checksum(void **state)
{
    struct sl_input_status s;
    size_t size;

    zstd_checksum = 0;
    size = pack(SL_INPUT_ZSTD, 0, 0, TEXT_BYTES);
    zstd_checksum = 1;
    save(packed, size);
    for (int ahead = 0; ahead < 2; ahead++) {
        assert_int_equal(read_all(1u << 20, ahead, &s), TEXT_BYTES);
        assert_int_equal(s.end, SL_INPUT_WHOLE);
        assert_int_equal(s.frames, 1);
    }
}

static void test_cut(void **state)
{
    struct sl_input_status s;

    for (int format = SL_INPUT_GZIP; format <= SL_INPUT_ZSTD; format++) {
        size_t first = pack((enum sl_input_format)format, 0, 0, 1000000);
        size_t size = pack((enum sl_input_format)format, first, 1000000, TEXT_BYTES);
        size_t before = 0;

        /* The file is truncated between two parts. A reader cannot notice this. */
        save(packed, first);
        assert_int_equal(read_all(65536, 0, &s), 1000000);
        assert_int_equal(s.end, SL_INPUT_WHOLE);
        /* The file is truncated inside a part, which the reader reports. A longer file never gives
         * less text than a shorter one. */
        for (size_t cut = first + 1; cut < size; cut += size / 23) {
            size_t got;

            save(packed, cut);
            got = read_all(65536, 1, &s);
            assert_int_equal(s.end, SL_INPUT_CUT);
            assert_int_equal(s.frames, 1);
            assert_non_null(strstr(s.what, "2")); /* the number of the part */
            assert_true(got >= 1000000 && got >= before);
            before = got;
        }
        assert_true(before > TEXT_BYTES * 3 / 4);
        save(packed, size - 1);
        read_all(65536, 0, &s);
        assert_int_equal(s.end, SL_INPUT_CUT);
    }
}

static void test_damaged(void **state)
{
    struct sl_input_status s;

    for (int format = SL_INPUT_GZIP; format <= SL_INPUT_ZSTD; format++) {
        size_t size = pack((enum sl_input_format)format, 0, 0, 1000000);

        packed[size - 1] ^= 1; /* damages the checksum of zstd, or the length of gzip */
        save(packed, size);
        assert_int_equal(read_all(65536, 0, &s), 1000000);
        assert_int_equal(s.end, SL_INPUT_DAMAGED);
        assert_non_null(strstr(s.what, "damaged"));
        packed[size - 1] ^= 1;
        memcpy(packed + size, "garbage", 7);
        save(packed, size + 7);
        assert_int_equal(read_all(65536, 0, &s), 1000000);
        assert_int_equal(s.end, SL_INPUT_DAMAGED);
    }
}

static void test_padding(void **state)
{
    struct sl_input_status s;
    size_t size = pack(SL_INPUT_GZIP, 0, 0, 1000);

    memset(packed + size, 0, 512); /* tape drives and some copying programs append zeros */
    save(packed, size + 512);
    assert_int_equal(read_all(65536, 0, &s), 1000);
    assert_int_equal(s.end, SL_INPUT_WHOLE);
}

static void test_cannot_open(void **state)
{
    struct sl_input *in = NULL;
    char why[256];

    assert_int_equal(sl_input_open(&in, "/nonexistent/file", why, sizeof(why)), -ENOENT);
    assert_non_null(strstr(why, "/nonexistent/file"));
    assert_int_equal(sl_input_open(&in, "/tmp", why, sizeof(why)), -EISDIR);
    assert_non_null(strstr(why, "directory"));
    save("", 0);
    assert_int_equal(sl_input_open(&in, path, why, sizeof(why)), -ENODATA);
    assert_non_null(strstr(why, "empty"));
    assert_null(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),       cmocka_unit_test(test_peek),
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_padding),     cmocka_unit_test(test_cannot_open),
        cmocka_unit_test(test_no_checksum),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
