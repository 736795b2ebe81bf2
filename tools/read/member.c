/*
 * member.c - steps over the values of an object or an array.
 *
 * Threads, memory: see member.h.
 */
#include "read/member.h"

#include <string.h>

#include "read/scan.h"

static size_t skip_space(struct sl_text t, size_t at)
{
    while (at < t.size && strchr(" \t\r\n", t.data[at]) && t.data[at])
        at++;
    return at;
}

/* Bytes of the value at `at`. */
static size_t value_size(struct sl_text t, size_t at)
{
    struct sl_scan scan = {0};
    size_t end = at;

    if (t.data[at] == '{' || t.data[at] == '[' || t.data[at] == '"')
        return sl_scan_end(&scan, t.data + at, t.size - at, 1);
    while (end < t.size && !strchr(",]} \t\r\n", t.data[end]))
        end++;
    return end - at;
}

int sl_member_next(struct sl_text container, size_t *at, struct sl_text *key, struct sl_text *value)
{
    size_t here = skip_space(container, *at ? *at : 1), size;

    if (here < container.size && container.data[here] == ',')
        here = skip_space(container, here + 1);
    if (here >= container.size || container.data[here] == '}' || container.data[here] == ']')
        return 0;
    size = value_size(container, here);
    if (container.data[0] == '{') {
        if (key && size >= 2)
            *key = (struct sl_text){container.data + here + 1, size - 2};
        here = skip_space(container, here + size);
        if (size < 2 || here >= container.size || container.data[here] != ':')
            return 0;
        here = skip_space(container, here + 1);
        size = here < container.size ? value_size(container, here) : 0;
    }
    if (size == 0)
        return 0;
    *value = (struct sl_text){container.data + here, size};
    *at = here + size;
    return 1;
}

struct sl_text sl_member_find(struct sl_text object, const char *key)
{
    struct sl_text name = {NULL, 0}, value = {NULL, 0};
    size_t at = 0, size = strlen(key);

    if (!object.data || object.size < 2 || object.data[0] != '{')
        return value;
    while (sl_member_next(object, &at, &name, &value))
        if (name.data && name.size == size && memcmp(name.data, key, size) == 0)
            return value;
    return (struct sl_text){NULL, 0};
}
