/* ranges.h - what the files of the program `ranges` share. */
#ifndef SL_TEST_RANGES_H
#define SL_TEST_RANGES_H

#include <nvtx3/nvToolsExtPayload.h>

/* A schema of these entries; its id. */
uint64_t ranges_schema(nvtxDomainHandle_t in, const nvtxPayloadSchemaEntry_t *entry, size_t count,
                       uint64_t type, size_t size);

/* An event called "over" that lasted some milliseconds, told when it is over by timestamps of that
 * clock; "": of NVTX's. Prints "deferred NS FROM TO": how long by that clock where it counts ns,
 * and between which wall clock times it was, in ns. */
void ranges_deferred(nvtxDomainHandle_t domain, const char *clock);

#endif
