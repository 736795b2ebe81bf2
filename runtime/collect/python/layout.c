/*
 * layout.c - finds the offsets of the fields that we read in CPython's objects.
 *
 * Threads, memory: see layout.h. The numbers are offsetof() values of CPython's structs, which are
 * the same on every machine with 8-byte pointers. The tests in tests/python check the numbers with
 * all supported versions.
 */
#include "collect/python/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"

/* Offsets in a type object. Its name and size show whether objects have the layout that we
 * expect. */
#define TYPE_NAME 24
#define TYPE_SIZE 32

#define VERSIONS         7
#define FIRST            9
#define FIRST_THAT_TELLS 13
#define COOKIE           "xdebugpy"
/* smallest value of the lowest byte of the version number of a release candidate or a final
 * release */
#define RELEASED   0xc0u
#define OFFSET_MAX 4096u

struct known {
    struct sl_python_layout layout;
    uint16_t code_size; /* size of a code object in bytes, which its type object contains */
};

#define STR_3_9  .ascii_text = 48, .compact_text = 72
#define STR_3_12 .ascii_text = 40, .compact_text = 56
/* Offsets that 3.9 and 3.10 have in common. Below are offsets that all versions from 3.13 on have
 * in common. */
#define LAYOUT_3_9                                                                                 \
    .thread_frame = 24, .cframe_frame = SL_PYTHON_NOWHERE, .frame_back = 24, .frame_code = 32,     \
    .frame_owner = SL_PYTHON_NOWHERE, .code_file = 104, .code_name = 112, .code_table = 120,       \
    .code_line = 40, .code_version = SL_PYTHON_NOWHERE, .code_start = SL_PYTHON_NOWHERE, STR_3_9
#define LAYOUT_3_13                                                                                \
    .cframe_frame = SL_PYTHON_NOWHERE, .code_version = 92, STR_3_12, .table = SL_PYTHON_LOCATIONS

/* From 3.13 on, CPython publishes the other offsets. */
static const struct known known[VERSIONS] = {
    {{LAYOUT_3_9, .frame_at = 104, .index_bytes = 1, .table = SL_PYTHON_LNOTAB}, 176},
    {{LAYOUT_3_9, .frame_at = 96, .index_bytes = 2, .table = SL_PYTHON_LINETABLE}, 176},
    {{.thread_frame = 56,
      .cframe_frame = 8,
      .frame_back = 48,
      .frame_code = 32,
      .frame_at = 56,
      .frame_owner = SL_PYTHON_NOWHERE,
      .code_file = 112,
      .code_name = 128,
      .code_table = 136,
      .code_line = 72,
      .code_version = SL_PYTHON_NOWHERE,
      .code_start = 184,
      STR_3_9,
      .table = SL_PYTHON_LOCATIONS},
     184},
    {{.thread_frame = 56,
      .cframe_frame = 0,
      .frame_back = 8,
      .frame_code = 0,
      .frame_at = 56,
      .frame_owner = 70,
      .code_file = 112,
      .code_name = 128,
      .code_table = 136,
      .code_line = 68,
      .code_version = 92,
      .code_start = 192,
      STR_3_12,
      .table = SL_PYTHON_LOCATIONS},
     192},
    {{LAYOUT_3_13}, 200},
    {{LAYOUT_3_13}, 208},
    {{LAYOUT_3_13}, 208},
};

/* Offsets, in _Py_DebugOffsets, of the groups of offsets that we read. The order within a group has
 * not changed between versions. */
static const struct told {
    uint16_t thread_frame, frame, code;
} told[VERSIONS] = {
    [13 - FIRST] = {184, 232, 280},
    [14 - FIRST] = {208, 256, 320},
    [15 - FIRST] = {208, 320, 384},
};

/* Index of each word in its group of offsets. */
enum {
    FRAME_BACK,
    FRAME_CODE,
    FRAME_AT,
    FRAME_LOCALS,
    FRAME_OWNER
};
enum {
    CODE_FILE,
    CODE_NAME,
    CODE_QUALIFIED_NAME,
    CODE_TABLE,
    CODE_LINE,
    CODE_START = 8
};

static uint64_t word_at(const char *table, size_t offset)
{
    uint64_t word;

    memcpy(&word, table + offset, sizeof(word));
    return word;
}

/* Returns SL_PYTHON_NOWHERE if the value cannot be an offset in a Python object. */
static uint16_t offset_at(const char *table, size_t group, unsigned word)
{
    uint64_t offset = word_at(table, group + word * sizeof(uint64_t));

    return offset < OFFSET_MAX ? (uint16_t)offset : SL_PYTHON_NOWHERE;
}

static int all_somewhere(const struct sl_python_layout *l)
{
    const uint16_t offset[] = {l->thread_frame, l->frame_back, l->frame_code, l->frame_at,
                               l->frame_owner,  l->code_file,  l->code_name,  l->code_table,
                               l->code_line,    l->code_start};

    for (size_t i = 0; i < sizeof(offset) / sizeof(*offset); i++)
        if (offset[i] == SL_PYTHON_NOWHERE)
            return 0;
    return 1;
}

static int read_told(struct sl_python_layout *l, unsigned minor)
{
    const struct told *group = &told[minor - FIRST];
    const char *table = sl_loader_symbol(RTLD_DEFAULT, "_PyRuntime");
    uint64_t version;

    if (!table || memcmp(table, COOKIE, sizeof(COOKIE) - 1) != 0)
        return -ENOTSUP;
    version = word_at(table, 8);
    /* The word at offset 16 says whether this Python has no GIL. We do not support such a Python,
     * because other threads may then change a waiting thread's frames, and because its objects have
     * another layout. */
    if (version >> 16 != (3u << 8 | minor) || (version & 0xff) < RELEASED || word_at(table, 16))
        return -ENOTSUP;
    l->thread_frame = offset_at(table, group->thread_frame, 0);
    l->frame_back = offset_at(table, group->frame, FRAME_BACK);
    l->frame_code = offset_at(table, group->frame, FRAME_CODE);
    l->frame_at = offset_at(table, group->frame, FRAME_AT);
    l->frame_owner = offset_at(table, group->frame, FRAME_OWNER);
    l->code_file = offset_at(table, group->code, CODE_FILE);
    l->code_name = offset_at(table, group->code, CODE_QUALIFIED_NAME);
    l->code_table = offset_at(table, group->code, CODE_TABLE);
    l->code_line = offset_at(table, group->code, CODE_LINE);
    l->code_start = offset_at(table, group->code, CODE_START);
    return all_somewhere(l) ? 0 : -ENOTSUP;
}

/* Returns the minor version in a text such as "3.11.7 (main, ...", or 0 if the text has another
 * form. */
static unsigned minor_version(void)
{
    const char *(*get)(void) =
        __extension__(const char *(*)(void)) sl_loader_symbol(RTLD_DEFAULT, "Py_GetVersion");
    const char *text = get ? get() : NULL;
    unsigned long minor;

    if (!text || strncmp(text, "3.", 2) != 0)
        return 0;
    minor = strtoul(text + 2, NULL, 10);
    return minor >= FIRST && minor < FIRST + VERSIONS ? (unsigned)minor : 0;
}

static int is_type(const void *type, const char *name)
{
    return type && strcmp(*(const char *const *)((const char *)type + TYPE_NAME), name) == 0;
}

static int find_names(struct sl_python_layout *l)
{
    l->is_initialized =
        __extension__(int (*)(void)) sl_loader_symbol(RTLD_DEFAULT, "Py_IsInitialized");
    l->this_thread = __extension__(void *(*)(void))
        sl_loader_symbol(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    l->code_type = sl_loader_symbol(RTLD_DEFAULT, "PyCode_Type");
    l->str_type = sl_loader_symbol(RTLD_DEFAULT, "PyUnicode_Type");
    l->bytes_type = sl_loader_symbol(RTLD_DEFAULT, "PyBytes_Type");
    if (!l->is_initialized || !l->this_thread)
        return -ENOENT;
    return is_type(l->code_type, "code") && is_type(l->str_type, "str") &&
                   is_type(l->bytes_type, "bytes")
               ? 0
               : -ENOTSUP;
}

int sl_python_layout_find(struct sl_python_layout *out)
{
    struct sl_python_layout l = {.is_initialized = NULL}, found;
    const struct known *k;
    unsigned minor;
    int err = find_names(&l);

    if (err)
        return err;
    minor = minor_version();
    if (!minor || sizeof(void *) != 8)
        return -ENOTSUP;
    k = &known[minor - FIRST];
    if (word_at(l.code_type, TYPE_SIZE) != k->code_size)
        return -ENOTSUP;
    found = k->layout;
    found.is_initialized = l.is_initialized;
    found.this_thread = l.this_thread;
    found.code_type = l.code_type;
    found.str_type = l.str_type;
    found.bytes_type = l.bytes_type;
    found.version = minor;
    err = minor < FIRST_THAT_TELLS ? 0 : read_told(&found, minor);
    if (!err)
        *out = found;
    return err;
}
