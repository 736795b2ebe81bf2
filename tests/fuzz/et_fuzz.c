/*
 * et_fuzz.c - reads any bytes as a Chakra trace.
 *
 * For any input, the reader must terminate without a crash or a sanitizer report. Every dependency
 * and text of a node must be readable. Positions must grow and stay within the input. The checks
 * and the report of `syncline check` must be computable. The seeds are small valid traces made
 * here; damage preserves whole messages. With libFuzzer:
 *   build/fuzz/tests/fuzz/et_fuzz /tmp/found
 *
 * Threads: one. Memory: the input, and the reader's.
 */
#undef NDEBUG /* assertions are needed in release builds, too, because they are the test */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/et_check.h"
#include "fuzz.h"
#include "read/et_file.h"
#include "write/chakra/wire.h"

static FILE *nowhere;
static volatile uint64_t touched;

static void touch(const struct sl_et_node *n)
{
    uint64_t sum = n->id;

    for (size_t i = 0; i < n->deps; i++)
        sum += n->dep[i];
    for (size_t i = 0; i < n->name.size; i++)
        sum += (unsigned char)n->name.data[i];
    for (size_t i = 0; i < n->pg_name.size; i++)
        sum += (unsigned char)n->pg_name.data[i];
    for (size_t i = 0; i < n->refused_attribute.size; i++)
        sum += (unsigned char)n->refused_attribute.data[i];
    touched += sum;
}

static void report(const struct sl_et_check *c, const struct sl_et *et)
{
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        abort();
    sl_check_print_et_text(nowhere, "fuzz", c, et);
    sl_check_print_et_json(nowhere, "fuzz", c, et);
}

/* `checked`: also runs the checks, whose tables for 10^8 ids take some milliseconds. */
static void read_all(const char *path, int checked)
{
    struct sl_et_check *c = NULL;
    struct sl_et_node node;
    uint64_t before = 0;
    struct sl_et *et;
    char why[256];

    if (sl_et_open(&et, path, why, sizeof(why)) != 0)
        return;
    if (checked && sl_et_check_create(&c) != 0)
        abort();
    while (sl_et_next(et, &node)) {
        assert(node.at >= before && et->state.position > node.at);
        before = node.at;
        touch(&node);
        if (c)
            sl_et_check_node(c, &node);
    }
    assert(et->state.end != SL_ET_OPEN);
    if (c) {
        sl_et_check_end(c, et);
        report(c, et);
    }
    sl_et_check_destroy(c);
    sl_et_close(et);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)sl_et_is_file(path);
    read_all(path, size % 16 == 0);
    close(fd);
    return 0;
}

/* ---- seeds ---- */

static char *put_message(char *at, const char *message, const char *end)
{
    at = sl_wire_varint(at, (uint64_t)(end - message));
    memcpy(at, message, (size_t)(end - message));
    return at + (end - message);
}

static char *put_node(char *at, uint64_t id, uint32_t seed)
{
    char message[512], deps[32];
    uint64_t first = seed & 64 ? 1ull << 40 : 0; /* every second node has a large id */
    char *m = sl_wire_u64(message, 1, first + id), *d = deps;

    m = sl_wire_bytes(m, 2, "kernel_of_some_kind", 1 + seed % 18);
    m = sl_wire_u64(m, 3, 4 + (seed >> 3) % 4);
    if (id > 1)
        d = sl_wire_varint(d, id - 1);
    if (id > 2)
        d = sl_wire_varint(d, 1);
    if (seed & 1)
        m = sl_wire_bytes(m, 5, deps, (size_t)(d - deps));
    else if (id > 1)
        m = sl_wire_u64(m, 4, id - 1);
    m = sl_wire_u64(m, 6, id * 10);
    m = sl_wire_u64(m, 7, seed % 1000);
    m = sl_chakra_attribute(m, 10, "is_cpu_op", 9, SL_CHAKRA_BOOL, seed & 1);
    m = sl_chakra_attribute(m, 10, "comm_type", 9, SL_CHAKRA_INT64, seed % 12);
    m = sl_chakra_attribute(m, 10, "comm_size", 9, SL_CHAKRA_INT64, seed);
    m = sl_chakra_attribute(m, 10, "duration_ns", 11, SL_CHAKRA_INT64, seed);
    m = sl_chakra_text_attribute(m, 10, "shape", "[2, 3]");
    m = sl_wire_bytes(m, 10, "\x0a\x01l\xf2\x01\x06\x0a\x01x\x0a\x01y", 12); /* a list */
    m = sl_wire_bytes(m, 8 + (seed >> 7) % 2, "\x0a\x01v\x12\x01s\x1a\x01t", 9);
    return put_message(at, message, m);
}

size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    char message[64], *at = (char *)data;

    assert(cap >= 4096);
    at = put_message(at, message, sl_wire_bytes(message, 1, "0.0.4", 5));
    for (uint64_t id = 1; id <= 1 + seed % 8; id++)
        at = put_node(at, id, seed * 2654435761u + (uint32_t)id);
    return (size_t)(at - (char *)data);
}
