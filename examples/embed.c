/* embed: decide in your own process, without a server.
 *
 *   cc embed.c $(pkg-config --cflags --libs libinterlude) -o embed && ./embed
 *
 * after `make install`, and `ldconfig` as root, so that the loader finds the library.
 */
#include <interlude.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    const char *yaml = interlude_demo_plan();
    struct interlude_error errors[8];
    size_t count;
    struct interlude_plan *plan = interlude_plan_load(yaml, strlen(yaml), errors, 8, &count);
    if (!plan) {
        for (size_t i = 0; i < count && i < 8; i++)
            fprintf(stderr, "%u:%u: %s\n", errors[i].line, errors[i].column, errors[i].text);
        return 2;
    }

    const char *request =
        "{\"request_id\": \"r-123\", \"variant\": \"bayes\","
        " \"session\": {\"elapsed_s\": 1830, \"tracks_played\": 9,"
        "   \"seconds_since_last_break_end\": 915, \"ads_last_hour\": 2, \"ad_seconds_last_hour\": "
        "55},"
        " \"posteriors\": {\"none\": {\"alpha\": 20, \"beta\": 80}, \"pod_1\": {\"alpha\": 25, "
        "\"beta\": 75},"
        "   \"pod_2\": {\"alpha\": 30, \"beta\": 70}, \"pod_3\": {\"alpha\": 22, \"beta\": 78}}}";
    size_t len = strlen(request);
    void *work = malloc(INTERLUDE_WORK_BYTES + len);
    struct interlude_decision decision;
    struct interlude_error error;
    int64_t now_us = 1796025600000000; /* your clock */
    int failed = !work || interlude_decide(plan, request, len, now_us, work,
                                           INTERLUDE_WORK_BYTES + len, &decision, &error);
    if (failed)
        fprintf(stderr, "%s: %s\n", error.code, error.text);
    else
        printf("%s by %s: %d ads, ask again in %lld s (posteriors: %s)\n", decision.action,
               decision.policy, decision.ads, (long long)decision.cooldown_s, decision.posteriors);

    free(work);
    interlude_plan_free(plan);
    return failed;
}
