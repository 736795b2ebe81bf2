/*
 * busy.h - which kinds of work ran side by side, in the chosen steps of a rank.
 *
 * Threads: one owner. Memory: 16 bytes for each operation of a device.
 */
#ifndef SL_REPORT_BUSY_H
#define SL_REPORT_BUSY_H

#include "report/report.h"

/* The time in which exactly these kinds of work ran: index 1 << enum sl_work, added up. Index 0 is
 * idle time. */
struct sl_busy {
    uint64_t ns[1 << SL_WORK_COUNT];
    uint8_t device;
};

/* Adds up the recordings [first, end) of a rank, for each device. Returns the number of devices, at
 * most `most`, or -ENOMEM. */
int sl_busy_make(const struct sl_report *report, size_t first, size_t end, struct sl_busy *out,
                 int most);

#endif
