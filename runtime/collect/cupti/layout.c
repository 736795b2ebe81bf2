/*
 * layout.c - the record layouts of the CUPTI that was met. Constant tables: any thread.
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
