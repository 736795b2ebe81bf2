/*
 * fields.c - user-defined records: the fields that a subscriber selected for each kind, and their
 * offsets.
 *
 * The subscriber's thread selects the fields of a kind before it enables the kind. It may select
 * other fields only after a forced flush has delivered all records of the kind. All records in a
 * buffer have one selection of fields, and the layout is reported with the buffer. Fields are
 * packed by their ids. This order may differ from the order of the selection, so that a client has
 * to read the layout. A selection of fields that the simulator does not fill gives an error.
 */
#include <stdlib.h>
#include <string.h>

#include "cupti/v2.h"

#define MAX_KINDS   64
#define MAX_FIELDS  64
#define KIND_BYTES  4
#define TELLS_SINCE 130300 /* 13.2 does not report layouts with a buffer */

struct chosen {
    struct sim_layout layout;
    size_t count;
    struct sim_field_place place[MAX_FIELDS];
    struct sim_record_places places;
};

/* The current selections of a client, by record kind. */
struct choice {
    const struct chosen *of[MAX_KINDS]; /* NULL if no fields of the kind are selected */
    struct sim_record_places *places[MAX_KINDS];
    struct choice *before; /* the selections stored before these, of any client */
};

/* Selections are never freed, because buffers may refer to them. */
static _Atomic(struct choice *) latest;

static struct client {
    atomic_bool on;
    _Atomic(struct choice *) choice;    /* NULL if the client has selected no fields */
    atomic_bool was_written[MAX_KINDS]; /* true if a record was made since the last forced flush */
} clients[SIM_CLIENTS];

bool sim_fields_on(void)
{
    return atomic_load_explicit(&clients[sim_client].on, memory_order_acquire);
}

/* Returns the current client's selection for the kind, or NULL if there is none. */
static const struct chosen *chosen_of(uint32_t kind)
{
    /* The acquire pairs with the release in sim_fields_choose(). So this thread sees the complete
     * layout. */
    const struct choice *choice =
        atomic_load_explicit(&clients[sim_client].choice, memory_order_acquire);

    return choice ? choice->of[kind] : NULL;
}

bool sim_fields_chosen(uint32_t kind)
{
    return chosen_of(kind) != NULL;
}

const struct sim_layout *sim_layout_of(uint32_t kind)
{
    enum sim_record record = kind < MAX_KINDS ? sim_record_of(kind) : R_COUNT;

    if (record == R_COUNT) {
        return NULL;
    }
    if (sim_fields_on()) {
        const struct chosen *chosen = chosen_of(kind);

        return chosen ? &chosen->layout : NULL;
    }
    return sim_version()->layout[record];
}

struct sim_record_places **sim_fields_written(uint32_t kind)
{
    struct choice *choice = atomic_load_explicit(&clients[sim_client].choice, memory_order_acquire);

    if (!choice) {
        return NULL;
    }
    atomic_store_explicit(&clients[sim_client].was_written[kind], true, memory_order_relaxed);
    return choice->places;
}

void sim_fields_flushed(void)
{
    for (uint32_t kind = 0; kind < MAX_KINDS; kind++) {
        atomic_store_explicit(&clients[sim_client].was_written[kind], false, memory_order_relaxed);
    }
}

CUptiResult sim_fields_set(bool on)
{
    if (sim_kinds_any()) {
        return CUPTI_ERROR_INVALID_OPERATION; /* the setting is allowed only before any kind is
                                               * enabled */
    }
    atomic_store_explicit(&clients[sim_client].on, on, memory_order_release);
    return CUPTI_SUCCESS;
}

/* Returns F_COUNT for a field that the simulator does not fill. */
static enum sim_field field_of(enum sim_record record, int id)
{
    for (size_t i = 0; i < sizeof sim_field_ids / sizeof *sim_field_ids; i++) {
        if (sim_field_ids[i].record == record && sim_field_ids[i].id == id) {
            return sim_field_ids[i].field;
        }
    }
    return F_COUNT;
}

static void place_field(struct chosen *c, int id, enum sim_field field, size_t bytes)
{
    size_t align = bytes > 8 ? 8 : bytes, at = (c->layout.size + align - 1) / align * align;

    c->place[c->count++] = (struct sim_field_place){sizeof c->place[0], id, at, bytes, align};
    c->layout.field[field].offset = (uint16_t)at;
    c->layout.field[field].width = (uint16_t)bytes;
    c->layout.size = (uint16_t)(at + bytes);
}

static bool holds(const int *ids, size_t count, int id)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Returns CUPTI_SUCCESS, or the error of the selection. */
static CUptiResult lay_out(struct chosen *c, enum sim_record record, const int *ids, size_t count)
{
    const struct sim_layout *whole = sim_version()->layout[record];
    size_t align = KIND_BYTES;

    *c = (struct chosen){.count = 0};
    for (int id = 0; id < MAX_FIELDS; id++) {
        enum sim_field field = field_of(record, id);
        size_t bytes = field < F_COUNT ? whole->field[field].width : 0;

        if (bytes && holds(ids, count, id)) {
            place_field(c, id, field, bytes);
            align = bytes >= 8 ? 8 : align;
        }
    }
    c->layout.size = (uint16_t)((c->layout.size + align - 1) / align * align);
    c->places = (struct sim_record_places){sizeof c->places, c->place, c->count, c->layout.size};
    /* A field was selected twice, or is not filled. */
    return c->count == count ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static bool is_usable(const struct sim_config *config)
{
    return config && config->structSize >= offsetof(struct sim_config, pKindOptions) &&
           config->fieldSelection.structSize >= sizeof config->fieldSelection &&
           config->fieldSelection.pFieldIds && config->fieldSelection.numFields &&
           config->fieldSelection.numFields <= MAX_FIELDS &&
           config->fieldSelection.pFieldIds[0] == 0; /* the first field must be the kind */
}

/* Stores a selection for one kind. The selections for other kinds stay unchanged. */
static CUptiResult keep(uint32_t kind, const struct chosen *chosen)
{
    struct client *client = &clients[sim_client];
    const struct choice *before = atomic_load_explicit(&client->choice, memory_order_relaxed);
    struct chosen *mine = malloc(sizeof *mine);
    struct choice *now = calloc(1, sizeof *now);

    if (!mine || !now) {
        free(mine);
        free(now);
        return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    *mine = *chosen;
    mine->places.pEntries = mine->place;
    if (before) {
        *now = *before;
    }
    now->of[kind] = mine;
    now->places[kind] = &mine->places;
    now->before = atomic_load_explicit(&latest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&latest, &now->before, now)) {
    }
    /* The release pairs with the acquires above, which then see the written layout. */
    atomic_store_explicit(&client->choice, now, memory_order_release);
    return CUPTI_SUCCESS;
}

CUptiResult sim_fields_choose(uint32_t kind, const struct sim_config *config)
{
    enum sim_record record = kind < MAX_KINDS ? sim_record_of(kind) : R_COUNT;
    struct chosen mine;
    CUptiResult result;

    if (!is_usable(config)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (record == R_COUNT) {
        return CUPTI_SUCCESS; /* no records of this kind are made */
    }
    result =
        lay_out(&mine, record, config->fieldSelection.pFieldIds, config->fieldSelection.numFields);
    if (result != CUPTI_SUCCESS) {
        return result;
    }
    const struct chosen *before = chosen_of(kind);

    if (before && memcmp(&before->layout, &mine.layout, sizeof mine.layout) == 0) {
        return CUPTI_SUCCESS;
    }
    if (before && clients[sim_client].was_written[kind]) {
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    if (before) {
        sim_lane_close();
    }
    result = keep(kind, &mine);
    if (result == CUPTI_SUCCESS) {
        sim_log("{\"what\":\"chosen\",\"kind\":\"%s\",\"fields\":%zu,\"bytes\":%u,"
                "\"whole_bytes\":%u,\"client\":%u}",
                sim_kind_name(kind), mine.count, mine.layout.size,
                sim_version()->layout[record]->size, sim_client);
    }
    return result;
}

void sim_fields_tell(struct sim_complete_info *info, struct sim_record_places **places)
{
    if (sim_fields_on() && sim_version()->number >= TELLS_SINCE && places) {
        info->ppRecordLayouts = places;
        info->numRecordLayouts = MAX_KINDS;
    }
}

void sim_fields_clear(void)
{
    struct client *client = &clients[sim_client];

    atomic_store_explicit(&client->choice, NULL, memory_order_release);
    sim_fields_flushed();
    atomic_store_explicit(&client->on, false, memory_order_release);
}
