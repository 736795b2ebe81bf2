/*
 * layout.c - finds the record layouts of a CUPTI version.
 *
 * Threads: any. Memory: constant tables.
 */
#include "collect/cupti/layout.h"

const struct sl_cupti_layout *sl_cupti_layout_find(uint32_t version)
{
    for (unsigned i = sl_cupti_tables_layout_count; i-- > 0;)
        if (sl_cupti_tables_layouts[i].version <= version)
            return &sl_cupti_tables_layouts[i];
    return NULL;
}

uint16_t sl_cupti_layout_size(const struct sl_cupti_layout *layout, uint32_t kind)
{
    return kind < SL_CUPTI_KIND_COUNT ? layout->record_size[kind] : 0;
}
