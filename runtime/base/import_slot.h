/*
 * import_slot.h - the places where loaded objects keep the addresses of functions they import.
 *
 * A call from one shared object into another goes through such a slot, which the dynamic linker
 * fills. What is written there instead is called by that object alone, from then on.
 *
 * Threads: any, one at a time. The dynamic linker's list is locked meanwhile, so that no object
 * goes away; objects that are still being loaded are left for the next time. Allocates nothing.
 */
#ifndef SL_IMPORT_SLOT_H
#define SL_IMPORT_SLOT_H

#include <stddef.h>
#include <stdint.h>

struct sl_import {
    const char *name; /* of the function */
    void *instead;    /* what slots are to hold; NULL: they are only looked at */
    /* The function. A slot that was filled with another one of that name, from a second copy of the
     * library, say, is left alone. NULL: any. */
    void *function;
    const void *within;  /* an address in the one object that is meant; NULL: all */
    unsigned slots;      /* found this time */
    unsigned redirected; /* of those, now `instead` */
};

/* Goes through the slots of all loaded objects for these functions. A slot is left alone if it
 * holds neither the function nor the object's own stub, or if its page cannot be written to. */
void sl_import_redirect(struct sl_import *imports, size_t count);

/* Any thread: changes whenever an object was loaded. */
uint64_t sl_import_generation(void);

#endif
