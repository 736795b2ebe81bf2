/*
 * software.h - versions of what the process is made of, for each trace.
 *
 * Threads: any. Memory: static.
 */
#ifndef SL_SOFTWARE_H
#define SL_SOFTWARE_H

enum sl_software {
    SL_SOFTWARE_PYTHON,
    SL_SOFTWARE_PYTORCH,
    SL_SOFTWARES
};

/* What counts is the first one that is told, up to its first space ("3.11.7 (main, ..."). NULL and
 * "" tell nothing. */
void sl_software_set(enum sl_software what, const char *version);

/* Borrowed for good; NULL: not known. */
const char *sl_software_get(enum sl_software what);

#endif
