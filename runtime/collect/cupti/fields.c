/*
 * fields.c - selects the fields of CUPTI's user-defined records and learns their offsets.
 *
 * Threads: as fields.h says. Memory: static. A CUPTI thread writes the offsets of a kind once, into
 * an unpublished slot, and then publishes the slot. The recorder thread makes a layout from the
 * published offsets.
 */
#include "collect/cupti/fields.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define SELECTIONS  16
#define LARGEST     4096 /* largest record in bytes; NVIDIA's largest record has 248 */
#define UNION_BYTES 2    /* bytes of each offset in a family's layout struct */

/* Offsets of one kind. `at` has the form of a family's layout struct: the record's size, then the
 * offsets. */
struct known {
    uint16_t fields; /* number of fields in CUPTI's records */
    uint8_t is_whole;
    uint16_t at[SL_CUPTI_FIELDS_MOST];
};

static struct {
    _Atomic(const struct known *) of[SELECTIONS];
    struct known slot[4 * SELECTIONS]; /* there are spare slots, because two threads may learn the
                                        * same kind at once */
    _Atomic unsigned slots;
    char mark;
} learned;

/* The data to which `layout` points. Only the recorder thread uses this data. */
static struct {
    struct sl_cupti_layout layout;
    uint16_t sizes[SL_CUPTI_KIND_COUNT];
    struct known of[SELECTIONS];
} view;

_Static_assert(sizeof(struct sl_cupti_kernel_layout) <= SL_CUPTI_FIELDS_MOST * UNION_BYTES,
               "the largest family fits");

void *sl_cupti_fields_mark(void)
{
    return &learned.mark;
}

int *sl_cupti_fields_select(uint32_t kind, size_t *count)
{
    static int ids[SELECTIONS][SL_CUPTI_FIELDS_MOST];

    for (unsigned i = 0; i < sl_cupti_tables_selection_count; i++) {
        const struct sl_cupti_selection *s = &sl_cupti_tables_selections[i];
        size_t n = 1; /* the kind field has id 0 and must be the first */

        if (s->kind != kind)
            continue;
        for (unsigned f = 0; f < s->count; f++)
            if (ids[i][n - 1] != s->fields[f].id) /* the members of a union share one id, which is
                                                   * listed once */
                ids[i][n++] = s->fields[f].id;
        *count = n;
        return ids[i];
    }
    return NULL;
}

static const struct sl_cupti_field_place *find_field(const struct sl_cupti_record_places *places,
                                                     int id)
{
    size_t step = places->fields->struct_size;

    for (size_t i = 0; i < places->count; i++) {
        const void *at = (const char *)places->fields + i * step;
        const struct sl_cupti_field_place *place = at;

        if (place->id == id)
            return place;
    }
    return NULL;
}

/* Returns whether the sizes are plausible. If the sizes are not plausible, no record of the kind
 * can be read. */
static int is_sane(const struct sl_cupti_record_places *places)
{
    return places->record_size >= sizeof(uint32_t) && places->record_size <= LARGEST &&
           places->count && places->count <= UINT16_MAX && places->fields &&
           places->fields->struct_size >= sizeof(*places->fields) &&
           places->fields->struct_size <= LARGEST && places->fields->id == 0 &&
           places->fields->offset == 0;
}

/* Numbers are little-endian, so the low bytes of a field that is wider than expected are at its
 * offset. */
static void read_places(struct known *k, const struct sl_cupti_selection *s,
                        const struct sl_cupti_record_places *places)
{
    *k = (struct known){.fields = (uint16_t)places->count, .is_whole = 1};
    k->at[0] = (uint16_t)places->record_size;
    for (unsigned f = 0; f < s->count; f++) {
        const struct sl_cupti_field *field = &s->fields[f];
        const struct sl_cupti_field_place *place = find_field(places, field->id);

        if (place && place->size >= field->bytes && place->offset <= places->record_size &&
            place->size <= places->record_size - place->offset)
            k->at[field->slot / UNION_BYTES] = (uint16_t)(place->offset + field->within);
        else
            k->is_whole = 0;
    }
}

static int is_same(const struct known *a, const struct known *b)
{
    return a->fields == b->fields && memcmp(a->at, b->at, sizeof(a->at)) == 0;
}

static int learn(unsigned i, const struct sl_cupti_record_places *places)
{
    /* Acquire pairs with another thread's exchange below, so that the slot's content is visible. */
    const struct known *known = atomic_load_explicit(&learned.of[i], memory_order_acquire);
    struct known now;
    unsigned slot;

    if (!is_sane(places))
        return -EINVAL;
    read_places(&now, &sl_cupti_tables_selections[i], places);
    if (!known) {
        slot = atomic_fetch_add_explicit(&learned.slots, 1, memory_order_relaxed);
        if (slot >= sizeof(learned.slot) / sizeof(*learned.slot))
            return -EINVAL;
        learned.slot[slot] = now;
        if (atomic_compare_exchange_strong_explicit(&learned.of[i], &known, &learned.slot[slot],
                                                    memory_order_acq_rel, memory_order_acquire))
            return 0;
    }
    return is_same(known, &now) ? 0 : -EINVAL;
}

int sl_cupti_fields_learn(const struct sl_cupti_complete_info *info)
{
    int result = 0;

    if (!info || info->struct_size < sizeof(*info) || !info->kinds)
        return -EINVAL;
    for (unsigned i = 0; i < sl_cupti_tables_selection_count; i++) {
        uint32_t kind = sl_cupti_tables_selections[i].kind;

        if (kind < info->count && info->kinds[kind] && learn(i, info->kinds[kind]))
            result = -EINVAL;
    }
    return result;
}

const struct sl_cupti_layout *sl_cupti_fields_layout(void)
{
    view.layout.record_size = view.sizes;
    for (unsigned i = 0; i < sl_cupti_tables_selection_count; i++) {
        const struct sl_cupti_selection *s = &sl_cupti_tables_selections[i];
        const struct known *known = atomic_load_explicit(&learned.of[i], memory_order_acquire);
        char *family = (char *)&view.layout + s->family;
        const uint16_t *other, *own = view.of[i].at;

        if (!known || view.sizes[s->kind])
            continue;
        view.of[i] = *known;
        /* RUNTIME and DRIVER share one family, so both must have the same layout. */
        memcpy(&other, family, sizeof(other));
        if (other && memcmp(other, own, sizeof(view.of[i].at)) != 0)
            continue;
        view.sizes[s->kind] = known->at[0];
        if (known->is_whole)
            memcpy(family, &own, sizeof(own));
    }
    return &view.layout;
}

void sl_cupti_fields_reset(void)
{
    memset(&learned, 0, sizeof(learned));
    memset(&view, 0, sizeof(view));
}
