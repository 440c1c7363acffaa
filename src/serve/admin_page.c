#include "serve/admin_page.h"

#define PAGE                                                                                     \
    "<!doctype html>\n"                                                                          \
    "<html lang=\"en\">\n"                                                                       \
    "<head><meta charset=\"utf-8\"><title>Interlude</title></head>\n"                            \
    "<body>\n"                                                                                   \
    "<h1>Interlude</h1>\n"                                                                       \
    "<p>The operations port. Decisions are made on the other one, by POST /v1/decide.</p>\n"     \
    "<ul>\n"                                                                                     \
    "<li><a href=\"/healthz\">/healthz</a>: does every thread turn</li>\n"                       \
    "<li><a href=\"/readyz\">/readyz</a>: does it want traffic</li>\n"                           \
    "<li><a href=\"/metrics\">/metrics</a>: for Prometheus</li>\n"                               \
    "<li><a href=\"/v1/plan\">/v1/plan</a>: the plan as it runs</li>\n"                          \
    "<li><a href=\"/v1/signals\">/v1/signals</a>: what can be said, and how often it was</li>\n" \
    "<li>POST /v1/explain: a decision, with the account of what was considered</li>\n"           \
    "<li>POST /v1/drill: let a signal fire, to prove that it can</li>\n"                         \
    "<li>POST /v1/reload: read the plan's file anew</li>\n"                                      \
    "</ul>\n"                                                                                    \
    "</body>\n"                                                                                  \
    "</html>\n"

const struct span admin_page = {PAGE, sizeof PAGE - 1};
