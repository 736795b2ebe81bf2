/*
 * metrics_doc.c - writes docs/metrics.md from the table of metrics. A build tool; it runs when the
 * target metrics_doc is built.
 */
#include <stdio.h>

#include "metrics_page.h"

int main(void)
{
    sl_metrics_print_markdown(stdout);
    return fflush(stdout) || ferror(stdout);
}
