#include "serve/deadline.h"

#include <stddef.h>

void deadlines_init(struct deadlines *d, const uint64_t timeout_ns[DEADLINE_COUNT])
{
    for (int kind = 0; kind < DEADLINE_COUNT; kind++) {
        struct deadline *head = &d->lists[kind];
        *head = (struct deadline){.before = head, .after = head, .kind = (enum deadline_kind)kind};
        d->timeout_ns[kind] = kind == DEADLINE_QUEUED ? UINT64_MAX / 2 : timeout_ns[kind];
        d->counts[kind] = 0;
    }
}

void deadline_disarm(struct deadlines *d, struct deadline *one)
{
    if (one->kind == DEADLINE_NONE) return;
    d->counts[one->kind]--;
    one->before->after = one->after;
    one->after->before = one->before;
    one->kind = DEADLINE_NONE;
}

void deadline_arm(struct deadlines *d, struct deadline *one, enum deadline_kind kind,
                  uint64_t now_ns)
{
    struct deadline *head = &d->lists[kind];
    one->at_ns = now_ns + d->timeout_ns[kind];
    if (head->before == one) return;
    deadline_disarm(d, one);
    d->counts[kind]++;
    one->kind = kind;
    one->before = head->before;
    one->after = head;
    head->before->after = one;
    head->before = one;
}

struct deadline *deadline_find_first(struct deadlines *d, enum deadline_kind kind)
{
    struct deadline *first = d->lists[kind].after;
    return first == &d->lists[kind] ? NULL : first;
}

struct deadline *deadline_find_due(struct deadlines *d, uint64_t now_ns)
{
    for (int kind = 0; kind < DEADLINE_QUEUED; kind++) {
        struct deadline *first = deadline_find_first(d, (enum deadline_kind)kind);
        if (first && first->at_ns <= now_ns) return first;
    }
    return NULL;
}

/* Of the kinds before `end`. */
static struct deadline *find_oldest(struct deadlines *d, int end)
{
    struct deadline *oldest = NULL;
    uint64_t oldest_ns = UINT64_MAX;
    for (int kind = 0; kind < end; kind++) {
        struct deadline *first = deadline_find_first(d, (enum deadline_kind)kind);
        if (!first || deadline_armed_ns(d, first) >= oldest_ns) continue;
        oldest = first;
        oldest_ns = deadline_armed_ns(d, first);
    }
    return oldest;
}

struct deadline *deadline_find_oldest(struct deadlines *d)
{
    return find_oldest(d, DEADLINE_COUNT);
}

_Static_assert(DEADLINE_FRESH == 0 && DEADLINE_IDLE == 1, "the silent ones come first");

struct deadline *deadline_find_silent(struct deadlines *d)
{
    return find_oldest(d, DEADLINE_IDLE + 1);
}

uint64_t deadline_next_ns(const struct deadlines *d)
{
    uint64_t next = UINT64_MAX;
    for (int kind = 0; kind < DEADLINE_QUEUED; kind++) {
        const struct deadline *head = &d->lists[kind];
        if (head->after != head && head->after->at_ns < next) next = head->after->at_ns;
    }
    return next;
}
