/*
 * name.c - makes and caches the names of nodes.
 *
 * The names are the same as in the Kineto file. Kernel names are demangled, and the names of copies
 * contain the direction. Names must be valid UTF-8, because otherwise protobuf's readers refuse the
 * whole file. So each invalid byte is replaced by '?'.
 *
 * Threads: one owner. Memory: a text cache with a fixed cap, and the writer's name area.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "event/pattern.h"
#include "write/chakra/chakra_internal.h"
#include "write/copy_name.h"
#include "write/demangle.h"

/* Returns the text of an interned name, and the length of the text. A demangled name is stored in
 * the writer's name area. */
static const char *interned(struct sl_chakra *c, uint32_t id, int mangled, size_t *length)
{
    const char *name = id && c->opt.intern ? sl_intern_get(c->opt.intern, id, length) : NULL;

    return name && mangled ? sl_demangled(c->name, SL_CHAKRA_NAME_MAX, name, length) : name;
}

static char *put(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

/* Returns the name of a range whose numbers differ from row to row. */
static const char *expanded(struct sl_chakra *c, const struct sl_event *ev, size_t *length)
{
    const char *pattern = interned(c, ev->name, 0, length);

    if (!pattern || *length > SL_CHAKRA_NAME_MAX / 2)
        return NULL;
    *length =
        (size_t)(sl_pattern_expand(c->name, pattern, *length, ev->name_numbers, put) - c->name);
    return c->name;
}

static const char *make(struct sl_chakra *c, const struct sl_event *ev, size_t *length)
{
    const struct sl_shape *s =
        c->opt.shapes && !sl_chakra_is_cpu(ev) ? sl_shape_get(c->opt.shapes, ev->shape) : NULL;
    uint32_t id = ev->kind == SL_EV_KERNEL && s && s->name ? s->name : ev->name;
    const char *name = ev->kind == SL_EV_NVTX_RANGE
                           ? expanded(c, ev, length)
                           : interned(c, id, ev->kind == SL_EV_KERNEL, length);
    const char *call;
    int n;

    if (name)
        return name;
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_NVTX_RANGE:
        n = snprintf(c->name, SL_CHAKRA_NAME_MAX, "unknown");
        break;
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
        *length = sl_copy_name_put(c->name, ev->kind, s ? s : &(const struct sl_shape){0});
        return c->name;
    case SL_EV_CPU_OP:
    case SL_EV_RANGE:
        n = snprintf(c->name, SL_CHAKRA_NAME_MAX, "unnamed");
        break;
    default:
        call =
            c->opt.api_name ? c->opt.api_name((enum sl_event_kind)ev->kind, ev->u.call.cbid) : NULL;
        n = call ? snprintf(c->name, SL_CHAKRA_NAME_MAX, "%s", call)
                 : snprintf(c->name, SL_CHAKRA_NAME_MAX, "%s call %u",
                            ev->kind == SL_EV_DRIVER ? "driver" : "runtime", ev->u.call.cbid);
        break;
    }
    *length = (size_t)n < SL_CHAKRA_NAME_MAX ? (size_t)n : SL_CHAKRA_NAME_MAX - 1;
    return c->name;
}

const struct sl_text *sl_chakra_name(struct sl_chakra *c, const struct sl_event *ev)
{
    uint32_t which = sl_chakra_is_call(ev)    ? ev->u.call.cbid
                     : sl_chakra_is_outer(ev) ? 0
                                              : ev->shape;
    int varies = ev->kind == SL_EV_NVTX_RANGE;
    uint64_t key0 = varies ? ev->name_numbers : (uint64_t)which << 8 | ev->kind;
    uint64_t key1 = (uint64_t)varies << 32 | ev->name;
    const struct sl_text *text = sl_text_cache_find(&c->names, key0, key1);
    char *clean = c->name + SL_CHAKRA_NAME_MAX;
    const char *name;
    size_t length = 0;

    if (text)
        return text;
    name = make(c, ev, &length);
    length = sl_utf8_clean(clean, SL_CHAKRA_NAME_MAX, name, length);
    /* The cache's cap is far above the length of the longest name, so this call cannot fail. */
    return sl_text_cache_add(&c->names, key0, key1, clean, length);
}
