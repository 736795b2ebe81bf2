/*
 * software.h - versions of the software in the process, for the header of each trace.
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

/* The first version that is set stays, up to its first space ("3.11.7 (main, ..."). NULL, "":
 * ignored. */
void sl_software_set(enum sl_software what, const char *version);

/* Valid for the life of the process; NULL: unknown. */
const char *sl_software_get(enum sl_software what);

#endif
