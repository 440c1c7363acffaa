/* story: three mistakes of the service that Interlude's promises come from, rebuilt as switches, so
 * that what they cost can be measured and not just told. docs/story.md.
 *
 *     guard unconditional   warns and counts whenever an action of the plan came without a
 *                           posterior, whoever was asked; once a request
 *     log synchronous       every line is rendered and written inside the request that fires it
 *     config per-request    the plan's file is opened, read and parsed in every request, and thrown
 *                           away: the plan that is served decides
 *
 * A server that was opened with story_answer decides as any other; only what a decision tells, and
 * when, is different. Nothing of the product refers to this file.
 *
 * Lines written inside a request pass the log's books: no budget holds them up, and interlude_log_*
 * and interlude_signal_* do not know them. The metrics of decisions are counted as ever.
 *
 * Threads: story_open before the server is opened, story_close after it is closed; story_answer is
 * for workers. Unlike all else that answers, it allocates and waits: that is its purpose. */
#ifndef INTERLUDE_SERVE_STORY_H
#define INTERLUDE_SERVE_STORY_H

#include "base/err.h"
#include "decide/decide.h"
#include "serve/service.h"

struct story_config {
    bool guard_unconditional, log_synchronous, config_per_request;
    const char *plan_path; /* NULL: the built-in plan's text is parsed. Must outlive the story */
    const struct settings_log *log; /* whose sink synchronous lines go to; not kept */
};

/* Opens the log, where that is a file and synchronous; a FIFO's reader is waited for. ERR_SYSTEM if
 * it cannot be opened. One story at a time. */
enum err_code story_open(const struct story_config *config, struct err *e) MUST_CHECK;
void story_close(void);

/* For struct server_config. */
void story_answer(struct service *service, struct exchange *x);

/* The unconditional guard: judges a decision as if a policy that uses every action of the plan had
 * been asked. Actions without a posterior are missing, and the status says so; anything that was
 * invalid stays it. Where nothing is missing, nothing changes. */
void story_guard(const struct plan *plan, const struct request *request, struct decision *decision);

#endif
