/*
 * attributes.c - turns a record into the attributes of its slice: interned texts and patterns.
 *
 * Threads: the recorder thread. Memory: fixed tables; texts are in the intern table.
 */
#include "collect/nvtx/attributes.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/pages.h"
#include "base/text_table.h"
#include "collect/nvtx/names.h"
#include "event/pattern.h"

enum {
    STRINGS = 65536,
    MORE_SLOTS = 1024,                       /* slots of the cache; a power of two */
    CATEGORIES = 1024,                       /* maximum number of categories; a power of two */
    PAYLOAD_MAX = 2 * SL_LANE_JSON_MAX + 64, /* largest size in bytes of the payloads of a range's
                                              * start and end */
};

static const char too_many[] = "(more names than are kept)";
static const char unnamed[] = "NVTX range";

/* A cache that maps domain, category and color to the text of the slice's args. */
struct more {
    uint64_t key;
    uint32_t color, id;
};

struct category {
    uint64_t key; /* 1 + a number made of domain and category; 0: the entry is free */
    uint32_t name;
};

struct sl_nvtx_attributes {
    struct sl_intern *intern;
    size_t texts_bytes;
    uint64_t lost;
    uint32_t too_many, unnamed; /* intern ids */
    uint32_t of_string[STRINGS];
    struct more more[MORE_SLOTS];
    struct category category[CATEGORIES];
    char pattern[PAYLOAD_MAX], payload[PAYLOAD_MAX];
    char args[(SL_LANE_TEXT_MAX + 64) * SL_JSON_ESCAPE_MAX * 2];
};

int sl_nvtx_attributes_create(struct sl_nvtx_attributes **out, struct sl_intern *intern,
                              size_t texts_bytes)
{
    struct sl_nvtx_attributes *l = sl_pages_map(sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->intern = intern;
    l->texts_bytes = texts_bytes;
    l->too_many = sl_intern_put(intern, too_many, sizeof(too_many) - 1);
    l->unnamed = sl_intern_put(intern, unnamed, sizeof(unnamed) - 1);
    *out = l;
    return 0;
}

void sl_nvtx_attributes_destroy(struct sl_nvtx_attributes *l)
{
    sl_pages_unmap(l, sizeof(*l));
}

uint64_t sl_nvtx_attributes_lost(const struct sl_nvtx_attributes *l)
{
    return l->lost;
}

/* ---- texts ---- */

uint32_t sl_nvtx_attributes_text(struct sl_nvtx_attributes *l, const char *text, size_t length)
{
    const size_t each = 32; /* bytes that each text takes for its entry and the index */
    uint32_t id = sl_intern_find(l->intern, text, length);

    if (id)
        return id;
    if (length + each <= l->texts_bytes)
        id = sl_intern_put(l->intern, text, length);
    if (!id) {
        l->lost++;
        return l->too_many;
    }
    l->texts_bytes -= length + each;
    return id;
}

uint32_t sl_nvtx_attributes_string(struct sl_nvtx_attributes *l, uint32_t string)
{
    const char *text;
    size_t length;

    if (string == 0 || string > STRINGS)
        return 0;
    if (!l->of_string[string - 1] && (text = sl_text_table_get(string, &length)))
        l->of_string[string - 1] = sl_nvtx_attributes_text(l, text, length);
    return l->of_string[string - 1];
}

static uint32_t put_pattern(struct sl_nvtx_attributes *l, const char *text, size_t length,
                            uint64_t *numbers)
{
    uint32_t number[SL_PATTERN_NUMBERS];
    size_t size = sl_pattern_make(l->pattern, text, length, number);
    uint32_t id = sl_nvtx_attributes_text(l, l->pattern, size);

    *numbers = id == l->too_many ? 0 : sl_pattern_pack(number);
    return id;
}

/* ---- domain, category, color ---- */

static struct category *find_category(struct sl_nvtx_attributes *l, unsigned domain,
                                      uint32_t category)
{
    uint64_t key = ((uint64_t)domain << 32 | category) + 1;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40), tries = CATEGORIES;

    while (l->category[at % CATEGORIES].key && l->category[at % CATEGORIES].key != key) {
        if (--tries == 0)
            return NULL;
        at++;
    }
    return &l->category[at % CATEGORIES];
}

void sl_nvtx_attributes_category(struct sl_nvtx_attributes *l, unsigned domain, uint32_t category,
                                 uint32_t name)
{
    struct category *c = find_category(l, domain, category);

    if (!c) {
        l->lost++;
        return;
    }
    c->key = ((uint64_t)domain << 32 | category) + 1;
    c->name = name;
    memset(l->more, 0, sizeof(l->more)); /* drop the cached texts, because they show the category's
                                          * number instead of its name */
}

static char *put_string(char *at, uint32_t string)
{
    return sl_json_string(at, sl_text_table_get(string, NULL));
}

static char *put_category(struct sl_nvtx_attributes *l, char *at, unsigned domain,
                          uint32_t category)
{
    const struct category *c = find_category(l, domain, category);

    at = SL_JSON_LITERAL(at, ",\"category\":");
    return c && c->key ? put_string(at, c->name) : sl_json_u32(at, category);
}

static char *put_color(char *at, uint32_t argb)
{
    at = sl_json_hex(SL_JSON_LITERAL(at, ",\"color\":\"#"), argb, 8);
    return SL_JSON_LITERAL(at, "\"");
}

/* Returns the id. Returns 0 if the id is the id of the replacement text, because here a missing
 * text is better than the replacement text. */
static uint32_t unless_too_many(const struct sl_nvtx_attributes *l, uint32_t id)
{
    return id == l->too_many ? 0 : id;
}

/* JSON members for the slice's args, without a leading comma. */
static uint32_t make_more(struct sl_nvtx_attributes *l, unsigned domain, unsigned parts,
                          uint32_t category, uint32_t color, const char *more)
{
    char *at = l->args;

    if (sl_nvtx_domain_name(domain))
        at = put_string(SL_JSON_LITERAL(at, ",\"domain\":"), sl_nvtx_domain_name(domain));
    if (parts & SL_LANE_HAS_CATEGORY)
        at = put_category(l, at, domain, category);
    if (parts & SL_LANE_HAS_COLOR)
        at = put_color(at, color);
    if (more)
        at = sl_json_raw(SL_JSON_LITERAL(at, ","), more, strlen(more));
    if (at == l->args)
        return 0;
    return unless_too_many(l, sl_nvtx_attributes_text(l, l->args + 1, (size_t)(at - l->args) - 1));
}

static uint32_t find_more(struct sl_nvtx_attributes *l, unsigned domain, unsigned parts,
                          uint32_t category, uint32_t color, const char *more)
{
    uint64_t key = (uint64_t)category << 32 | domain << 16 |
                   (parts & (SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR)) << 8 | 1;
    struct more *slot = &l->more[((key ^ color) * 0x9e3779b97f4a7c15u >> 40) % MORE_SLOTS];

    if (more)
        return make_more(l, domain, parts, category, color, more);
    if (slot->key != key || slot->color != color)
        *slot = (struct more){key, color, make_more(l, domain, parts, category, color, NULL)};
    return slot->id;
}

/* ---- records ---- */

void sl_nvtx_attributes_add_payload(struct sl_nvtx_attributes *l, struct sl_range_look *look,
                                    const char *json, size_t length)
{
    const char *known = NULL;
    size_t known_length = 0;
    char *at = l->payload;

    if (!length)
        return;
    if (look->payload)
        known = sl_intern_get(l->intern, look->payload, &known_length);
    if (known && known_length + 32 + length < sizeof(l->payload)) {
        at = sl_pattern_expand(at, known, known_length, look->payload_numbers, sl_json_raw);
        at = SL_JSON_LITERAL(at, ",");
    }
    if (length > sizeof(l->payload) - (size_t)(at - l->payload))
        return;
    at = sl_json_raw(at, json, length);
    look->payload = unless_too_many(
        l, put_pattern(l, l->payload, (size_t)(at - l->payload), &look->payload_numbers));
}

void sl_nvtx_attributes_add(struct sl_nvtx_attributes *l, const struct sl_lane_record *r,
                            struct sl_range_look *look)
{
    const uint64_t *at = (const uint64_t *)(r + 1) + (r->parts & SL_LANE_HAS_TIMES ? 2 : 0);
    uint32_t category = 0, color = 0;

    if (r->parts & (SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR)) {
        category = (uint32_t)*at;
        color = (uint32_t)(*at >> 32);
        at++;
        look->more = find_more(l, r->domain, r->parts, category, color, NULL);
    }
    if (r->parts & SL_LANE_HAS_VALUE) {
        look->value_type = (uint8_t)at[0];
        look->value = at[1];
        at += 2;
    }
    if (r->parts & SL_LANE_HAS_ID)
        at++;
    if (r->parts & SL_LANE_HAS_STRING) {
        look->name = sl_nvtx_attributes_string(l, r->aux);
        look->numbers = 0;
    }
    if (r->parts & SL_LANE_HAS_TEXT) {
        look->name = put_pattern(l, (const char *)(at + 1), at[0], &look->numbers);
        at += 1 + (at[0] + 7) / 8;
    }
    if (r->parts & SL_LANE_HAS_JSON)
        sl_nvtx_attributes_add_payload(l, look, (const char *)(at + 1), at[0]);
}

void sl_nvtx_attributes_join(struct sl_nvtx_attributes *l, struct sl_range_look *look,
                             const struct sl_range_look *end)
{
    size_t length = 0;
    const char *payload = sl_intern_get(l->intern, end->payload, &length);
    char *at = l->args;

    if (end->name != l->unnamed) {
        look->name = end->name;
        look->numbers = end->numbers;
    }
    if (end->more)
        look->more = end->more;
    if (end->value_type) {
        look->value_type = end->value_type;
        look->value = end->value;
    }
    if (!payload)
        return;
    at = sl_pattern_expand(at, payload, length, end->payload_numbers, sl_json_raw);
    sl_nvtx_attributes_add_payload(l, look, l->args, (size_t)(at - l->args));
}

void sl_nvtx_attributes_make(struct sl_nvtx_attributes *l, const struct sl_lane_record *r,
                             const char *more, struct sl_range_look *out, uint64_t *id)
{
    const uint64_t *at = (const uint64_t *)(r + 1);

    *out = (struct sl_range_look){.more = find_more(l, r->domain, 0, 0, 0, more)};
    sl_nvtx_attributes_add(l, r, out);
    if (!out->name)
        out->name = l->unnamed;
    if (!id)
        return;
    at += (r->parts & (SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR)) != 0;
    at += r->parts & SL_LANE_HAS_VALUE ? 2 : 0;
    *id = r->parts & SL_LANE_HAS_ID ? *at : 0;
}
