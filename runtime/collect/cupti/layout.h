/*
 * layout.h - the record layouts of the CUPTI that was met. Constant tables: any thread.
 */
#ifndef SL_CUPTI_LAYOUT_H
#define SL_CUPTI_LAYOUT_H

#include "collect/cupti/tables.h"

/* The newest row that is not newer than the library; NULL below 12.0. */
const struct sl_cupti_layout *sl_cupti_layout_find(uint32_t version);

/* Bytes of a record of this kind; 0: not one that the row knows. */
uint16_t sl_cupti_layout_size(const struct sl_cupti_layout *layout, uint32_t kind);

#endif
