/*
 * configuration_page.h - the option table as a page of the documentation.
 *
 * Any thread. Memory: none.
 */
#ifndef CONFIGURATION_PAGE_H
#define CONFIGURATION_PAGE_H

#include <stdio.h>

/* Prints docs/configuration.md. */
void sl_config_print_markdown(FILE *f);

#endif
