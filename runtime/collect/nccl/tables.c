/*
 * tables.c - the tables by which NCCL finds our plugin. Exported data of libsyncline.so.
 *
 * NCCL takes the highest version that it knows. Versions 1 to 3 (NCCL 2.23 to 2.26) are left out.
 */
#include "collect/nccl/plugin.h"

#define EXPORT __attribute__((visibility("default")))

#define REST                                                                                       \
    .stop = sl_nccl_plugin_end, .record_state = sl_nccl_plugin_state,                              \
    .finalize = sl_nccl_plugin_finalize

extern const struct sl_nccl_plugin ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6,
    ncclProfiler_v7;

EXPORT const struct sl_nccl_plugin ncclProfiler_v4 = {
    .name = "syncline", .init_v4 = sl_nccl_plugin_init_v4, .start = sl_nccl_plugin_start_v4, REST};
EXPORT const struct sl_nccl_plugin ncclProfiler_v5 = {
    .name = "syncline", .init_v5 = sl_nccl_plugin_init_v5, .start = sl_nccl_plugin_start, REST};
EXPORT const struct sl_nccl_plugin ncclProfiler_v6 = {
    .name = "syncline", .init_v5 = sl_nccl_plugin_init_v5, .start = sl_nccl_plugin_start, REST};
EXPORT const struct sl_nccl_plugin ncclProfiler_v7 = {
    .name = "syncline", .init_v5 = sl_nccl_plugin_init_v7, .start = sl_nccl_plugin_start_v7, REST};
