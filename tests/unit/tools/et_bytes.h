/*
 * et_bytes.h - writes Chakra files that are typed by hand, for tests.
 *
 * The macros make messages of Chakra's schema. The length of each message precedes it.
 */
#ifndef ET_BYTES_H
#define ET_BYTES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ET_META                                                                                    \
    "\x0a\x05"                                                                                     \
    "0.0.4"
#define ET_ID(n) "\x08" n
#define ET_NAME                                                                                    \
    "\x12\x01"                                                                                     \
    "k"
#define ET_COMP    "\x18\x04"
#define ET_COLL    "\x18\x07"
#define ET_DEP(n)  "\x2a\x01" n
#define ET_CTRL(n) "\x20" n /* not packed */
#define ET_GPU                                                                                     \
    "\x52\x0e\x0a\x09"                                                                             \
    "is_cpu_op"                                                                                    \
    "\xd8\x01\x00"
#define ET_CPU                                                                                     \
    "\x52\x0e\x0a\x09"                                                                             \
    "is_cpu_op"                                                                                    \
    "\xd8\x01\x01"
#define ET_TYPE(n)                                                                                 \
    "\x52\x0d\x0a\x09"                                                                             \
    "comm_type"                                                                                    \
    "\x48" n
#define ET_SIZE                                                                                    \
    "\x52\x0d\x0a\x09"                                                                             \
    "comm_size"                                                                                    \
    "\x48\x08"
#define ET_GROUP(c)                                                                                \
    "\x52\x0d\x0a\x07"                                                                             \
    "pg_name"                                                                                      \
    "\xea\x01\x01" c

static char et_path[] = "/tmp/et_testXXXXXX";

static inline void et_write(const void *data, size_t size)
{
    FILE *f;

    if (!strstr(et_path, "XXXXXX"))
        unlink(et_path);
    strcpy(et_path, "/tmp/et_testXXXXXX");
    f = fdopen(mkstemp(et_path), "w");
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

struct et_message {
    const char *bytes;
    size_t size;
};

#define ET_MESSAGE(text)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

/* Writes messages of less than 128 bytes. */
static inline void et_write_messages(const struct et_message *m, size_t count)
{
    char text[4096];
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        text[at++] = (char)m[i].size;
        memcpy(text + at, m[i].bytes, m[i].size);
        at += m[i].size;
    }
    et_write(text, at);
}

#define ET_FILE(...)                                                                               \
    do {                                                                                           \
        const struct et_message et_m[] = {__VA_ARGS__};                                            \
        et_write_messages(et_m, sizeof(et_m) / sizeof(et_m[0]));                                   \
    } while (0)

#endif
