/*
 * layout.h - finds the record layouts of a CUPTI version.
 *
 * Threads: any. Memory: constant tables.
 */
#ifndef SL_CUPTI_LAYOUT_H
#define SL_CUPTI_LAYOUT_H

#include "collect/cupti/tables.h"

/* Returns the newest layout that is not newer than `version`, or NULL if `version` is below
 * 12.0. */
const struct sl_cupti_layout *sl_cupti_layout_find(uint32_t version);

/* Returns the size in bytes of a record of this kind, or 0 if the layout does not have the kind. */
uint16_t sl_cupti_layout_size(const struct sl_cupti_layout *layout, uint32_t kind);

#endif
