/*
 * chakra_report.h - reports what a converted Chakra execution trace contains and lacks.
 *
 * Threads: main. Memory: none beyond the stack.
 */
#ifndef SL_CHAKRA_REPORT_H
#define SL_CHAKRA_REPORT_H

#include "convert/request.h"
#include "replay/replay.h"
#include "write/chakra/chakra.h"

/* Call after the end of the file. Prints the contents on standard output, and the parts that
 * simulators ignore on standard error. */
void sl_chakra_report(const struct sl_convert_request *r, const struct sl_replay *feed,
                      const struct sl_chakra *chakra);

#endif
