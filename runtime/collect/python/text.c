/*
 * text.c - reads CPython texts, and builds the text of a frame's line.
 *
 * Threads, memory: see text.h.
 */
#include "collect/python/text.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define UTF8_MOST 4u /* maximum number of bytes per character */
#define DOTS      3

void sl_python_chars_of(const struct sl_python_layout *l, const void *str,
                        struct sl_python_chars *out)
{
    const char *at = str;
    uint64_t length;
    uint32_t state;

    memcpy(&length, at + SL_PYTHON_STR_LENGTH, sizeof(length));
    memcpy(&state, at + SL_PYTHON_STR_STATE, sizeof(state));
    out->kind = (state & SL_PYTHON_STR_KIND) >> 2;
    out->is_ascii = (state & SL_PYTHON_STR_ASCII) != 0;
    out->data = at + (out->is_ascii ? l->ascii_text : l->compact_text);
    /* In every Python, the str of a name is compact. The characters of a str that is not compact
     * are stored elsewhere and are not read. */
    out->length = state & SL_PYTHON_STR_COMPACT && length < INT32_MAX ? length : 0;
}

/* ---- conversion to UTF-8 ---- */

static size_t put_latin1(char *out, size_t size, const char *data, size_t length)
{
    size_t n = 0;

    for (size_t i = 0; i < length && n + 2 <= size; i++)
        n += sl_utf8_put(out + n, size - n, (unsigned char)data[i]);
    return n;
}

static size_t put_chars(char *out, size_t size, const struct sl_python_chars *chars, size_t from)
{
    const char *data = chars->data + from * chars->kind;
    size_t length = chars->length - from;

    switch (chars->kind) {
    case 1:
        if (!chars->is_ascii)
            return put_latin1(out, size, data, length);
        length = length < size ? length : size;
        memcpy(out, data, length);
        return length;
    case 2:
        return sl_utf8_from_utf16(out, size, data, length);
    case 4:
        return sl_utf8_from_utf32(out, size, data, length);
    default:
        return 0;
    }
}

/* Returns how many characters to drop from the beginning of the text so that the rest certainly
 * fits. */
static size_t surplus(const struct sl_python_chars *chars, size_t size)
{
    size_t fit = chars->is_ascii ? size : size / (chars->kind == 1 ? 2 : UTF8_MOST);

    return chars->length > fit ? chars->length - fit : 0;
}

/* Writes the whole text, or three dots and the text's end. */
static size_t put_end(char *out, size_t size, const struct sl_python_chars *chars)
{
    if (!surplus(chars, size))
        return put_chars(out, size, chars, 0);
    if (size <= DOTS)
        return 0;
    memset(out, '.', DOTS);
    return DOTS + put_chars(out + DOTS, size - DOTS, chars, surplus(chars, size - DOTS));
}

size_t sl_python_text_add(const struct sl_python_layout *l, char *text, size_t length, size_t most,
                          const void *file, const void *function, int line)
{
    struct sl_python_chars path, name;
    /* the bytes of " < ", ":", the line number, and " " */
    const size_t between = 3 + 1 + 10 + 1;
    const size_t rest = most - between, name_most = rest / 3;
    char *at = text + length;

    sl_python_chars_of(l, file, &path);
    sl_python_chars_of(l, function, &name);
    if (length) {
        *at++ = ' ';
        *at++ = '<';
        *at++ = ' ';
    }
    at += put_end(at, rest - name_most, &path);
    *at++ = ':';
    at = sl_json_u32(at, (unsigned)line);
    *at++ = ' ';
    at += put_chars(at, name_most, &name, 0);
    return (size_t)(at - text);
}

/* ---- library files ---- */

static const char *const packages[] = {"torch", "triton", "torchgen", "functorch", "syncline"};

/* Written once, before `is_known` is set. */
static struct {
    char folder[PATH_MAX];
    atomic_int is_taken, is_known;
} own;

void sl_python_packages_are_in(const char *folder)
{
    if (!*folder || strlen(folder) >= sizeof(own.folder) || atomic_exchange(&own.is_taken, 1))
        return;
    memcpy(own.folder, folder, strlen(folder) + 1);
    /* Release pairs with the acquire in is_in_own_folder(), so that the path is visible. */
    atomic_store_explicit(&own.is_known, 1, memory_order_release);
}

/* File names of Python's frozen modules, and of code that torch.compile generates. */
static const char *const made[] = {"<frozen ", "<eval_with_key>", "<__array_function__"};

static const char *find(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at ? at + strlen(word) : NULL;
}

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* `at` is the path below the folder in which packages are installed. */
static int is_package(const char *at)
{
    for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++) {
        size_t length = strlen(packages[i]);

        if (begins(at, packages[i]) && at[length] == '/')
            return 1;
    }
    return 0;
}

static int is_in_own_folder(const char *path)
{
    size_t length;

    if (!atomic_load_explicit(&own.is_known, memory_order_acquire))
        return 0;
    length = strlen(own.folder);
    return begins(path, own.folder) && path[length] == '/' && is_package(path + length + 1);
}

/* Recognises a file of Python's own library, such as ".../lib/python3.11/...". */
static int is_pythons_own(const char *path)
{
    const char *at = find(path, "/lib/python3.");

    if (!at)
        at = find(path, "/lib64/python3.");
    while (at && *at >= '0' && *at <= '9')
        at++;
    return at && *at == '/';
}

/* Recognises code that torch.compile's inductor has generated, such as ".../wv/cwvx...q.py", in any
 * cache folder. The file's name is a hash in base 32, and the folder's name is the beginning of
 * that hash. */
static int is_inductors(const char *path)
{
    enum {
        HASH = 52,
        FOLDER = 3
    };
    const char *slash = strrchr(path, '/'), *name;

    if (!slash || slash - path < FOLDER)
        return 0;
    name = slash + 1;
    return *name == 'c' && strspn(name, "abcdefghijklmnopqrstuvwxyz234567") == HASH &&
           strcmp(name + HASH, ".py") == 0 && slash[-FOLDER] == '/' &&
           memcmp(slash - FOLDER + 1, name + 1, FOLDER - 1) == 0;
}

int sl_python_is_library(const struct sl_python_layout *l, const void *file)
{
    char path[4096];
    struct sl_python_chars chars;
    const char *at;

    sl_python_chars_of(l, file, &chars);
    path[put_end(path, sizeof(path) - 1, &chars)] = '\0';
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
        if (begins(path, made[i]))
            return 1;
    /* Frames of our own Python wrappers may lie between PyTorch and its caller. */
    if (strstr(path, "/torchinductor_") || is_inductors(path) ||
        strstr(path, "/python/syncline/_") || is_in_own_folder(path))
        return 1;
    at = find(path, "/site-packages/");
    if (!at)
        at = find(path, "/dist-packages/");
    return at ? is_package(at) : is_pythons_own(path);
}
