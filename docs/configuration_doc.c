/*
 * configuration_doc.c - writes docs/configuration.md from the option table. A build tool; it runs
 * when the target configuration_doc is built.
 */
#include <stdio.h>

#include "configuration_page.h"

int main(void)
{
    sl_config_print_markdown(stdout);
    return fflush(stdout) || ferror(stdout);
}
