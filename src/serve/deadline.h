/* deadline: what must be over by when, for every connection of a loop.
 *
 * A connection waits for one thing at a time, and each kind of waiting has one limit. So a list a
 * kind, appended at its end, is sorted by itself: arming is O(1), the nearest deadline is the first
 * of a few heads, and nothing is looked at that is not due.
 * Threads: those of the loop. Ownership: links are embedded in what waits. */
#ifndef INTERLUDE_SERVE_DEADLINE_H
#define INTERLUDE_SERVE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

enum deadline_kind {
    DEADLINE_FRESH,  /* no byte of the first request yet */
    DEADLINE_IDLE,   /* none of a further one */
    DEADLINE_HEAD,   /* a request's head, from its first byte */
    DEADLINE_BODY,   /* its body, from the end of the head */
    DEADLINE_ANSWER, /* the peer takes the answer */
    DEADLINE_LINGER, /* the peer closes after our last word */
    DEADLINE_QUEUED, /* not for the peer, but for its own next turn: never due */
    DEADLINE_COUNT,
    DEADLINE_NONE = DEADLINE_COUNT,
};

struct deadline {
    struct deadline *before, *after;
    uint64_t at_ns;
    enum deadline_kind kind; /* DEADLINE_NONE: in no list */
};

struct deadlines {
    struct deadline lists[DEADLINE_COUNT]; /* heads of rings */
    uint32_t counts[DEADLINE_COUNT];
    uint64_t timeout_ns[DEADLINE_COUNT];
};

/* The timeout of DEADLINE_QUEUED is not used. */
void deadlines_init(struct deadlines *d, const uint64_t timeout_ns[DEADLINE_COUNT]);

/* Leaves the list it is in. */
void deadline_disarm(struct deadlines *d, struct deadline *one);

/* Due `timeout_ns[kind]` after `now_ns`, which should not go back between calls: one that is armed
 * as of an earlier time may be told due late, once those that were armed before it are gone. */
void deadline_arm(struct deadlines *d, struct deadline *one, enum deadline_kind kind,
                  uint64_t now_ns);

/* One that is due, still in its list; NULL if none is. */
struct deadline *deadline_find_due(struct deadlines *d, uint64_t now_ns);

/* The first of a kind; NULL if there is none. */
struct deadline *deadline_find_first(struct deadlines *d, enum deadline_kind kind);

/* The one that was armed the longest ago; NULL if none is. */
struct deadline *deadline_find_oldest(struct deadlines *d);

/* The same among those of which no byte of a request has come; and how many these are. */
struct deadline *deadline_find_silent(struct deadlines *d);
static inline uint32_t deadline_silent_count(const struct deadlines *d)
{
    return d->counts[DEADLINE_FRESH] + d->counts[DEADLINE_IDLE];
}

/* When `one`, which is in a list, was armed. */
static inline uint64_t deadline_armed_ns(const struct deadlines *d, const struct deadline *one)
{
    return one->at_ns - d->timeout_ns[one->kind];
}

/* When the nearest is due; UINT64_MAX: none is armed. */
uint64_t deadline_next_ns(const struct deadlines *d);

#endif
