/*
 * chakra_report.h - what is in a Chakra execution trace that was made of another, and what is not.
 *
 * Threads: main. Memory: none beyond the stack.
 */
#ifndef SL_CHAKRA_REPORT_H
#define SL_CHAKRA_REPORT_H

#include "convert/request.h"
#include "replay/replay.h"
#include "write/chakra/chakra.h"

/* After the file's end: on standard output; what simulators do not do with it on standard error. */
void sl_chakra_report(const struct sl_convert_request *r, const struct sl_replay *feed,
                      const struct sl_chakra *chakra);

#endif
