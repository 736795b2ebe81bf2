/*
 * launcher.h - finds the process that started this run of the job on this machine.
 *
 * All ranks of a machine have the same launcher, such as torchrun or mpirun, and each run has a new
 * one. If no launcher set a rank, the launcher is the program itself: the process from which this
 * process was copied by fork() or by Python's multiprocessing, or this process.
 *
 * Threads: one at a time. Memory: a static buffer, of which only the used pages take memory. Reads
 * /proc.
 */
#ifndef SL_LAUNCHER_H
#define SL_LAUNCHER_H

#include <stdint.h>

struct sl_launcher {
    uint32_t pid;  /* as this process's pid namespace numbers it */
    int is_copied; /* 1: the process was copied by fork() or multiprocessing, so the
                    * variables of its environment are those of the process that made it */
    /* start of the process that the launcher started for this rank; it is later than the
     * launcher's start if the launcher restarted the ranks. Without a launcher, the program's
     * start */
    uint64_t rank_start_ticks;
    uint64_t start_ticks; /* start, in clock ticks since the machine booted; 0 if not known */
};

/* `proc` is "/proc". `variable` is a variable that the launcher sets for each of its processes, and
 * that the launcher itself does not have; NULL if there is no such variable. */
void sl_launcher_find(struct sl_launcher *out, const char *proc, uint32_t pid,
                      const char *variable);

/* Converts a start to ns since the epoch. Returns 0 if the start is not known. */
uint64_t sl_launcher_start_ns(uint64_t start_ticks);

#endif
