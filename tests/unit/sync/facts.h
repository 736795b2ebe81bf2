/* facts.h - edges in words: those that a scenario expects, and those that the engine found. */
#ifndef SL_TEST_FACTS_H
#define SL_TEST_FACTS_H

#include "sync/edge.h"
#include "sync/words.h"

/* A call that has a name. */
struct facts_call {
    char name[32];
    uint64_t id;
    uint32_t thread, device;
    unsigned plain; /* its operations that are no graph's nodes */
};

/* Edges, and the line that expects each. */
struct facts_list {
    struct facts_edge *at;
    size_t count, slots;
};

struct facts {
    struct facts_call *call;
    size_t calls, slots;
    struct facts_list expected, found;
};

void facts_free(struct facts *f);

/* Names call `id`. In a loop a name that is given again is the later call's. "kernel[i]" is named
 * by its number, too. */
void facts_name(struct facts *f, struct words *w, const char *name, uint64_t id);
struct facts_call *facts_call_of(const struct facts *f, uint64_t id); /* NULL: it has no name */
uint64_t facts_take_id(struct facts *f, struct words *w); /* of the call that the next word names */

void facts_found(struct facts *f, const struct sl_edge *edges, size_t count);

/* Rest of a line `expect FROM -> TO KIND [inferred|overlapping] [unreleased] wait US wake US` */
void facts_expect(struct facts *f, struct words *w);
/* Rest of a line `never FROM -> TO`: no exact edge that was found says that it released it. */
void facts_never(const struct facts *f, struct words *w);

/* 1: expected and found edges differ; it says how, side by side. 0: they do not, and are gone. */
int facts_differ(struct facts *f, struct words *w);

/* Returns the array, longer if `count` members fill it. */
void *facts_grow(void *array, size_t count, size_t *slots, size_t size);

#endif
