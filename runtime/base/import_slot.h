/*
 * import_slot.h - redirects import slots. A loaded object stores in such a slot the address of a
 * function that it imports.
 *
 * The dynamic linker fills such slots. A call from one shared object into another goes through a
 * slot. If we write another address to the slot, the later calls of that object, and of no other,
 * go to our function.
 *
 * Threads: any thread, but only one at a time. The dynamic linker's list is locked during a search,
 * so no object is unloaded. Objects that are still being loaded are skipped until the next call.
 * Allocates nothing.
 */
#ifndef SL_IMPORT_SLOT_H
#define SL_IMPORT_SLOT_H

#include <stddef.h>
#include <stdint.h>

struct sl_import {
    const char *name; /* the function's name */
    void *instead;    /* the address to store in slots; NULL: slots are only counted */
    /* The function's address. A slot that holds another function of this name, for example from a
     * second copy of the library, is left unchanged. NULL: any function of this name. */
    void *function;
    const void *within;    /* an address inside the only object to search; NULL: all objects */
    const char *exporting; /* only objects that define and export this function are searched; NULL:
                            * all objects */
    unsigned slots;        /* slots found by this call */
    unsigned redirected;   /* found slots that now hold `instead` */
};

/* Searches the slots of all loaded objects for these functions. A slot is left unchanged if it
 * holds neither the function nor the object's own stub, or if its page cannot be written. */
void sl_import_redirect(struct sl_import *imports, size_t count);

/* Any thread. Returns a number that changes whenever an object is loaded. */
uint64_t sl_import_generation(void);

#endif
