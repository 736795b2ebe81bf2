/* slot.h - calls NVTX functions as a program does, through the function pointers (slots) that
 * syncline has set. */
#ifndef SL_NVTX_SLOT_H
#define SL_NVTX_SLOT_H

#include "collect/nvtx/calls.h"

static inline sl_nvtx_function slot(unsigned module, unsigned id)
{
    const struct sl_nvtx_slot *const tables[] = {sl_nvtx_slots, sl_nvtx_name_slots};

    for (unsigned i = 0; i < 2; i++)
        for (const struct sl_nvtx_slot *s = tables[i]; s->function; s++)
            if (s->module == module && s->id == id)
                return s->function;
    fail_msg("no function for %u of module %u", id, module);
    return NULL;
}

/* nvtxMarkA("text") is CALL(CORE, MarkA, void, const char *)("text"). */
#define CALL(module, call, result, ...)                                                            \
    ((result(*)(__VA_ARGS__))slot(NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##call))

#endif
