/*
 * page.h - the parts of the page that `syncline report --html` writes. The build makes these texts
 * from the files in page/ and from uPlot.
 */
#ifndef SL_REPORT_PAGE_H
#define SL_REPORT_PAGE_H

extern const char sl_page_html[], sl_page_css[], sl_page_js[];
extern const char sl_page_uplot_js[], sl_page_uplot_css[];

#endif
