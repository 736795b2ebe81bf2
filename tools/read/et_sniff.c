/*
 * et_sniff.c - recognises a Chakra execution trace by its first bytes, or by its name if the first
 * bytes are damaged.
 *
 * Threads: any, each with its own input. Memory: none.
 */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "read/et_file.h"
#include "read/et_wire.h"

/* Tags of GlobalMetadata fields, as encoded. */
#define TAG_VERSION   0x0a
#define TAG_ATTRIBUTE 0x12

/* Returns whether a byte may be in a version (`of_version`), or in an attribute's name. */
static int is_letter(unsigned char c, int of_version)
{
    return of_version ? isdigit(c) || c == '.' : isalnum(c) || c == '_';
}

int sl_et_looks_like(const char *text, size_t size)
{
    struct sl_et_span s = {(const unsigned char *)text, (const unsigned char *)text + size};
    uint64_t length, i;
    int of_version;

    if (!sl_et_take_varint(&s, &length) || s.end - s.at < 3)
        return 0;
    of_version = *s.at == TAG_VERSION;
    if (!of_version && (*s.at++ != TAG_ATTRIBUTE || !sl_et_take_varint(&s, &length)))
        return 0;
    if (s.end - s.at < 2 || *s.at++ != TAG_VERSION) /* an attribute's name has the same tag */
        return 0;
    length = *s.at++;
    if (length == 0 || length > 16 || length > (uint64_t)(s.end - s.at))
        return 0;
    for (i = 0; i < length; i++)
        if (!is_letter(s.at[i], of_version))
            return 0;
    return 1;
}

/* Returns whether the file name is one of NAME.et, NAME.et.zst, NAME.et.part and so on. */
static int is_named(const char *path)
{
    const char *name = strrchr(path, '/'), *at;

    for (at = strstr(name ? name : path, ".et"); at; at = strstr(at + 1, ".et"))
        if (at[3] == '\0' || at[3] == '.')
            return 1;
    return 0;
}

int sl_et_is_input(struct sl_input *input, const char *path)
{
    const char *text;
    size_t size = sl_input_peek(input, &text);

    return sl_et_looks_like(text, size) ||
           (size > 0 && is_named(path) && !strchr(" \t\r\n{[", text[0]));
}

int sl_et_is_file(const char *path)
{
    struct sl_input *input;
    struct stat st;
    char why[512];
    int is_one;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        sl_input_open(&input, path, why, sizeof(why)) != 0)
        return 0;
    is_one = sl_et_is_input(input, path);
    sl_input_close(input);
    return is_one;
}
