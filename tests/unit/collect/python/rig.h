/* rig.h - loads the CPython of fixture_python.c, and sets its version. */
#ifndef SL_PYTHON_RIG_H
#define SL_PYTHON_RIG_H

#include "test.h"

#include <dlfcn.h>
#include <string.h>

#include "unit/collect/python/fixture_python.h"

static struct {
    struct fixture_python *said;
    struct fixture_type *code, *str, *bytes;
    char *runtime;
} cpython;

static inline void load_python(void)
{
    void *library = dlopen(FIXTURE_PYTHON, RTLD_NOW | RTLD_GLOBAL);

    assert_non_null(library);
    cpython.said = dlsym(library, "fixture_python");
    cpython.code = dlsym(library, "PyCode_Type");
    cpython.str = dlsym(library, "PyUnicode_Type");
    cpython.bytes = dlsym(library, "PyBytes_Type");
    cpython.runtime = dlsym(library, "_PyRuntime");
    assert_true(cpython.said && cpython.code && cpython.str && cpython.bytes && cpython.runtime);
}

static inline void put_word(void *at, size_t offset, uint64_t word)
{
    memcpy((char *)at + offset, &word, sizeof(word));
}

/* Returns the size in bytes of a code object, without the part at its end whose length varies. */
static inline uint64_t code_size(unsigned minor)
{
    static const uint64_t size[] = {176, 176, 184, 192, 200, 208, 208};

    return size[minor - 9];
}

/* The table of offsets that CPython 3.13 and later publish. The position of each group of offsets
 * depends on the version. */
struct told_python {
    uint16_t thread_frame, back, code, at, owner, file, name, qualified_name, table, line, start;
};

static const struct told_python usual = {72, 8, 0, 56, 74, 112, 120, 128, 136, 68, 208};

static inline void tell_python(unsigned minor, const struct told_python *t)
{
    static const size_t thread[] = {184, 208, 208}, frame[] = {232, 256, 320},
                        code[] = {280, 320, 384};
    char *table = cpython.runtime;
    unsigned i = minor - 13;

    memset(table, 0xee, FIXTURE_RUNTIME);
    memcpy(table, "xdebugpy", 8);
    put_word(table, 8, 3u << 24 | minor << 16 | 0x00f0);
    put_word(table, 16, 0);
    put_word(table, thread[i], t->thread_frame);
    put_word(table, frame[i], t->back);
    put_word(table, frame[i] + 8, t->code);
    put_word(table, frame[i] + 16, t->at);
    put_word(table, frame[i] + 32, t->owner);
    put_word(table, code[i], t->file);
    put_word(table, code[i] + 8, t->name);
    put_word(table, code[i] + 16, t->qualified_name);
    put_word(table, code[i] + 24, t->table);
    put_word(table, code[i] + 32, t->line);
    put_word(table, code[i] + 64, t->start);
}

static inline void be_python(unsigned minor)
{
    static const char *const version[] = {"3.9.18 (main)",   "3.10.13 (main)", "3.11.7 (main)",
                                          "3.12.1 (main)",   "3.13.0 (main)",  "3.14.0rc1 (main)",
                                          "3.15.0rc2 (main)"};

    cpython.said->version = version[minor - 9];
    cpython.said->is_initialized = 1;
    cpython.code->size = code_size(minor);
    memset(cpython.runtime, 0, FIXTURE_RUNTIME);
    if (minor >= 13)
        tell_python(minor, &usual);
}

#endif
