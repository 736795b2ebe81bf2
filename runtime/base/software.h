/*
 * software.h - stores the versions of the software in the process, for the header of each trace.
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

/* Sets a version, which is cut at its first space ("3.11.7 (main, ..."). Only the first call for
 * each software has an effect. NULL and "" are ignored. */
void sl_software_set(enum sl_software what, const char *version);

/* Returns the version, valid for the life of the process. Returns NULL if the version is not
 * known. */
const char *sl_software_get(enum sl_software what);

#endif
