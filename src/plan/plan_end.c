/* Is it all of the file? A file that is still being written, or that was cut, is often a valid plan
 * with less in it. YAML has a mark for the end of a document, and JSON ends with its brace. */
#include "plan/load.h"
#include "plan/yaml_walk.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The last line that says something: not empty, and no comment. */
static struct span last_line(struct span text)
{
    while (text.len) {
        size_t start = text.len;
        while (start > 0 && text.data[start - 1] != '\n') start--;
        size_t end = text.len;
        while (end > start && is_blank(text.data[end - 1])) end--;
        if (end > start && text.data[start] != '#')
            return (struct span){text.data + start, end - start};
        text.len = start ? start - 1 : 0;
    }
    return text;
}

enum plan_end plan_end_of(struct span text)
{
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        text = (struct span){text.data + 3, text.len - 3};
    size_t first = 0, end = text.len;
    while (first < end && is_blank(text.data[first])) first++;
    while (end > first && is_blank(text.data[end - 1])) end--;
    if (end > first && text.data[first] == '{' && text.data[end - 1] == '}') return PLAN_END_MARKED;
    if (span_is(last_line(text), "...")) return PLAN_END_MARKED;
    return text.len && text.data[text.len - 1] == '\n' ? PLAN_END_OPEN : PLAN_END_CUT;
}

struct plan *plan_check_file(struct span text, struct settings **settings,
                             struct plan_errors *errors, struct plan_errors *warnings)
{
    enum plan_end end = text.len ? plan_end_of(text) : PLAN_END_MARKED;
    bool cut = end == PLAN_END_CUT;
    struct plan *plan = plan_check(text, cut ? NULL : settings, errors, warnings);
    if (!plan && errors->errors[0].code == ERR_NO_MEMORY) return NULL;
    struct yaml_place last = yaml_walk_to_byte(text, text.len);
    if (cut) {
        plan_free(plan);
        plan = NULL;
        if (warnings) warnings->count = warnings->more = 0;
        plan_errors_add(errors, last,
                        "the file ends in the middle of a line, so it may be half a file: end it "
                        "with the line `...`");
    }
    if (plan && warnings && end == PLAN_END_OPEN)
        plan_errors_add(warnings, last,
                        "the last line is not `...`: so a reload cannot tell all of this file from "
                        "half of it, and refuses whatever takes something away");
    return plan;
}

struct plan *plan_load_file(struct span text, struct settings **settings,
                            struct plan_errors *errors)
{
    return plan_check_file(text, settings, errors, NULL);
}
