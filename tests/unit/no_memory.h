/* no_memory: makes allocations fail, one by one, in a test that is linked for it.
 *
 * A test whose file is called no_memory_test.c is linked so that malloc and its kin are the ones
 * here, for the code under test and for libyaml (the Makefile: NO_MEMORY_LINK). */
#ifndef INTERLUDE_TESTS_NO_MEMORY_H
#define INTERLUDE_TESTS_NO_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static long no_memory_at;      /* the allocation that fails, from 1; 0: none does */
static bool no_memory_onwards; /* and each one after it */
static long no_memory_count;   /* allocations since no_memory_arm */

static inline void no_memory_arm(long at, bool onwards)
{
    no_memory_at = at;
    no_memory_onwards = onwards;
    no_memory_count = 0;
}

/* Returns whether an allocation failed. */
static inline bool no_memory_disarm(void)
{
    bool failed = no_memory_at && no_memory_count >= no_memory_at;
    no_memory_at = 0;
    return failed;
}

static bool no_memory_now(void)
{
    if (!no_memory_at) return false;
    no_memory_count++;
    bool fails =
        no_memory_count == no_memory_at || (no_memory_onwards && no_memory_count > no_memory_at);
    if (fails) errno = ENOMEM;
    return fails;
}

#define NO_MEMORY_WRAP(name, parameters, arguments)              \
    void *__real_##name parameters;                              \
    void *__wrap_##name parameters;                              \
    void *__wrap_##name parameters                               \
    {                                                            \
        return no_memory_now() ? NULL : __real_##name arguments; \
    }
NO_MEMORY_WRAP(malloc, (size_t bytes), (bytes))
NO_MEMORY_WRAP(calloc, (size_t count, size_t bytes), (count, bytes))
NO_MEMORY_WRAP(realloc, (void *old, size_t bytes), (old, bytes))
NO_MEMORY_WRAP(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
NO_MEMORY_WRAP(strdup, (const char *text), (text))

#endif
