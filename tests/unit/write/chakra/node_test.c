/* node_test.c - compares the bytes of a file with bytes written by hand from Chakra's schema. */
#include "unit/test.h"

#include "unit/write/chakra/fixture.h"

/* Each line is one field of the schema: tag, length or value, text. */
/* clang-format off */
static const char header_bytes[] =
    "\x79" /* 121 bytes follow */
    "\x0a\x05" "0.0.4" /* version = 1 */
    "\x12\x0e" "\x0a\x04" "host" "\xea\x01" "\x05" "node1" /* attr = 2: name = 1, string_val = 29 */
    "\x12\x08" "\x0a\x04" "rank" "\x48\x03" /* int64_val = 9 */
    "\x12\x0e" "\x0a\x0a" "world_size" "\x48\x00"
    "\x12\x0a" "\x0a\x06" "device" "\x48\x00"
    "\x12\x19" "\x0a\x0d" "clock_base_ns" "\x48" "\x80\x80\xa8\xb1\xe3\x9f\xe7\xcb\x17"
    "\x12\x08" "\x0a\x03" "job" "\xea\x01" "\x00"
    "\x12\x15" "\x0a\x10" "syncline_version" "\xea\x01" "\x00";

static const char call_bytes[] =
    "\x54" /* 84 bytes follow */
    "\x08\x01" /* id = 1 */
    "\x12\x02" "op" /* name = 2 */
    "\x18\x04" /* type = 3: COMP */
    "\x38\x02" /* duration_micros = 7 */
    "\x52\x0e" "\x0a\x09" "is_cpu_op" "\xd8\x01\x01" /* attr = 10: bool_val = 27 */
    "\x52\x07" "\x0a\x03" "tid" "\x48\x0a"
    "\x52\x0f" "\x0a\x0b" "correlation" "\x48\x05"
    "\x52\x0c" "\x0a\x08" "start_ns" "\x48\x00"
    "\x52\x10" "\x0a\x0b" "duration_ns" "\x48\xdc\x0b";

static const char kernel_bytes[] =
    "\x6b" /* 107 bytes follow */
    "\x08\x02"
    "\x12\x01" "k"
    "\x18\x04"
    "\x2a\x01" "\x01" /* data_deps = 5, packed */
    "\x30\x02" /* start_time_micros = 6 */
    "\x38\x03"
    "\x52\x0e" "\x0a\x09" "is_cpu_op" "\xd8\x01\x00"
    "\x52\x0a" "\x0a\x06" "stream" "\x48\x07"
    "\x52\x0d" "\x0a\x08" "delay_ns" "\x48\xf4\x03"
    "\x52\x0f" "\x0a\x0b" "correlation" "\x48\x05"
    "\x52\x0d" "\x0a\x08" "start_ns" "\x48\xd0\x0f"
    "\x52\x10" "\x0a\x0b" "duration_ns" "\x48\xb8\x17";

static const char send_bytes[] =
    "\xb0\x01" /* 176 bytes follow */
    "\x08\x02"
    "\x12\x0c" "ncclSendRecv"
    "\x18\x05" /* COMM_SEND */
    "\x2a\x01" "\x01"
    "\x30\x02"
    "\x38\x03"
    "\x52\x0e" "\x0a\x09" "is_cpu_op" "\xd8\x01\x00"
    "\x52\x0a" "\x0a\x06" "stream" "\x48\x07"
    "\x52\x0d" "\x0a\x08" "delay_ns" "\x48\xf4\x03"
    "\x52\x0e" "\x0a\x09" "comm_size" "\x48\x80\x20"
    "\x52\x0c" "\x0a\x08" "comm_dst" "\x38\x02" /* int32_val = 7 */
    "\x52\x0c" "\x0a\x08" "comm_tag" "\x38\x00"
    "\x52\x0c" "\x0a\x07" "pg_name" "\xea\x01" "\x00"
    "\x52\x0f" "\x0a\x0b" "correlation" "\x48\x05"
    "\x52\x0d" "\x0a\x08" "start_ns" "\x48\xd0\x0f"
    "\x52\x10" "\x0a\x0b" "duration_ns" "\x48\xb8\x17";

static const char memset_bytes[] =
    "\x89\x01" /* 137 bytes follow */
    "\x08\x03"
    "\x12\x01" "m"
    "\x18\x04"
    "\x30\x0a"
    "\x38\x02"
    "\x52\x0e" "\x0a\x09" "is_cpu_op" "\xd8\x01\x00"
    "\x52\x0a" "\x0a\x06" "stream" "\x48\x08"
    "\x52\x0c" "\x0a\x08" "delay_ns" "\x48\x00"
    "\x52\x0e" "\x0a\x09" "no_launch" "\xd8\x01\x01"
    "\x52\x10" "\x0a\x0b" "tensor_size" "\x68\x80\x20" /* uint64_val = 13 */
    "\x52\x0f" "\x0a\x0b" "correlation" "\x48\x06"
    "\x52\x0d" "\x0a\x08" "start_ns" "\x48\x90\x4e"
    "\x52\x10" "\x0a\x0b" "duration_ns" "\x48\xd0\x0f";
/* clang-format on */

static void test_bytes_are_those_of_the_schema(void **state)
{
    const size_t header = sizeof(header_bytes) - 1, call_size = sizeof(call_bytes) - 1;

    call_ns("op", 10, 0, 1500, 5);
    kernel(7, 2, 5, 5, "k");
    assert_int_equal(sl_chakra_end(f.chakra), 0);
    f.open = 0;
    assert_int_equal(f.size, header + call_size + sizeof(kernel_bytes) - 1);
    assert_memory_equal(f.data, header_bytes, header);
    assert_memory_equal(f.data + header, call_bytes, call_size);
    assert_memory_equal(f.data + header + call_size, kernel_bytes, sizeof(kernel_bytes) - 1);
}

static void test_bytes_of_a_message_and_of_an_amount(void **state)
{
    const size_t before = sizeof(header_bytes) - 1 + sizeof(call_bytes) - 1;
    const size_t send_size = sizeof(send_bytes) - 1, memset_size = sizeof(memset_bytes) - 1;

    f.collective = (struct sl_collective){SL_COLLECTIVE_SEND, 4096, 0, 2, 1, 0, 4096};
    call_ns("op", 10, 0, 1500, 5);
    kernel(7, 2, 5, 5, "ncclSendRecv");
    gpu(SL_EV_MEMSET, 8, 10, 12, 6, "m", 4096);
    assert_int_equal(sl_chakra_end(f.chakra), 0);
    f.open = 0;
    assert_int_equal(f.size, before + send_size + memset_size);
    assert_memory_equal(f.data + before, send_bytes, send_size);
    assert_memory_equal(f.data + before + send_size, memset_bytes, memset_size);
}

static void test_long_messages_pass_the_block(void **state)
{
    static char name[40001];
    struct dom_file *d;

    memset(name, 'x', sizeof(name) - 1);
    for (unsigned i = 0; i < 20; i++)
        call_ns(name, 10, i * 1000, i * 1000 + 1000, 1 + i);
    d = read_back();
    assert_int_equal(d->nodes, 20);
    assert_int_equal(strlen(d->node[19].name), sizeof(name) - 1);
}

static void test_size_of_a_node(void **state)
{
    struct dom_file *d;

    for (unsigned i = 0; i < 2000; i++) {
        launch(10, 10 + 20 * i, 15 + 20 * i, 1000000 + i);
        kernel(7, 17 + 20 * i, 35 + 20 * i, 1000000 + i, "k");
    }
    d = read_back();
    assert_true((d->raw_bytes - d->name_bytes) / d->nodes <= 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_bytes_are_those_of_the_schema),
        CHAKRA_TEST(test_bytes_of_a_message_and_of_an_amount),
        CHAKRA_TEST(test_long_messages_pass_the_block),
        CHAKRA_TEST(test_size_of_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
