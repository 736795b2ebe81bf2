/* sink_memory_test.c - the sink that writes to memory. All written bytes can be read in order at
 * any time. */
#include "unit/test.h"

#include <string.h>

#include "write/sink/sink.h"

static void bytes_come_back_in_order(void **state)
{
    struct sl_sink *s;
    const void *data;
    size_t size, i;
    char piece[777];

    assert_int_equal(sl_sink_memory_open(&s), 0);
    sl_sink_memory_get(s, &data, &size);
    assert_int_equal(size, 0);
    for (i = 0; i < 1000; i++) {
        memset(piece, (int)(i % 256), sizeof(piece));
        assert_int_equal(s->write(s, piece, sizeof(piece)), 0);
        sl_sink_memory_get(s, &data, &size);
        assert_int_equal(size, (i + 1) * sizeof(piece));
        assert_memory_equal((const char *)data + i * sizeof(piece), piece, sizeof(piece));
    }
    assert_int_equal(((const unsigned char *)data)[5 * sizeof(piece)], 5);
    assert_int_equal(s->sync(s), 0);
    assert_int_equal(s->close(s, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
