/* admin_page: what a browser is shown at `/` of the operations port. Constant. */
#ifndef INTERLUDE_SERVE_ADMIN_PAGE_H
#define INTERLUDE_SERVE_ADMIN_PAGE_H

#include "base/span.h"

/* The page loads nothing and runs nothing. */
#define ADMIN_PAGE_FIELDS "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"

extern const struct span admin_page;

#endif
