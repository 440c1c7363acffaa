/* decide_bench: reads the plan and the request of the documentation, and decides N times. Run under
 * callgrind with --toggle-collect=decide it tells the instructions of decide() alone; with
 * --toggle-collect=request_read or reply_write, those of reading and answering.
 *
 *   decide_bench VARIANT N [uuid]    VARIANT: control (fixed), bayes (thompson, 4 Betas), greedy,
 *                                    random; request ids are short, or UUIDs
 */
#include "decide/reply.h"
#include "plan/plan_load.h"

#include <stdio.h>
#include <stdlib.h>

static const char format[] =
    "{\"request_id\": \"%s\", \"segment_id\": \"core\", \"unit_id\": \"u-9f2\", \"session_id\": "
    "\"s-1\","
    " \"variant\": \"%s\",\n"
    " \"session\": {\"elapsed_s\": 1830, \"tracks_played\": 9, \"seconds_since_last_break_end\": "
    "915,"
    " \"breaks_in_session\": 1,\n"
    "             \"ads_last_hour\": 2, \"ad_seconds_last_hour\": 55, \"tier\": \"free\"},\n"
    " \"posteriors\": {\"none\": {\"alpha\": 20, \"beta\": 80}, \"pod_1\": {\"alpha\": 25, "
    "\"beta\": 75},\n"
    "                \"pod_2\": {\"alpha\": 30, \"beta\": 70}, \"pod_3\": {\"alpha\": 22, "
    "\"beta\": 78}}}";

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "uuid") != 0)) {
        fprintf(stderr, "usage: decide_bench VARIANT N [uuid]\n");
        return 2;
    }
    const char *ids = argc == 4 ? "%08x-7e1d-4000-8000-0123456789ab" : "r-%d";
    struct plan_errors errors = {0};
    struct plan *plan = plan_load(plan_demo_text(), NULL, &errors);
    if (!plan) return 2;

    static struct request request;
    static char scratch[REQUEST_BYTES_MAX], answer[REPLY_BYTES_MAX];
    unsigned long ads = 0;
    for (int i = 0; i < atoi(argv[2]); i++) {
        char body[1024], id[64];
        snprintf(id, sizeof id, ids, i);
        int len = snprintf(body, sizeof body, format, id, argv[1]);
        struct err e;
        if (request_read(plan, (struct span){body, (size_t)len}, scratch, &request, &e)) return 1;
        struct decision d;
        decide(plan, &request, 0, NULL, &d);
        struct buf b = buf_of(answer, sizeof answer);
        reply_write(&b, plan, &request, &d, 0);
        ads += (unsigned long)d.ads + b.full;
    }
    printf("%lu ads\n", ads);
    plan_free(plan);
    return 0;
}
