#include "base/nearest.h"

enum { WANTED_BYTES_MAX = 64, DISTANCE_MAX = 2 };

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: the edit distance in which no piece is edited twice. Row i of the usual
 * table needs only the two rows above it. The caller has made sure that `b` is at most
 * WANTED_BYTES_MAX bytes. */
static size_t distance_of(struct span a, struct span b)
{
    size_t rows[3][WANTED_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.len; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = a.data[i - 1] == b.data[j - 1];
            size_t best = min_of(above[j - 1] + !same, min_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                best = min_of(best, rows[(i - 2) % 3][j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[a.len % 3][b.len];
}

struct span nearest_name(struct span wanted, const struct span *names, size_t count)
{
    struct span nearest = {NULL, 0};
    if (wanted.len == 0 || wanted.len > WANTED_BYTES_MAX) return nearest;
    size_t too_far = min_of(DISTANCE_MAX + 1, wanted.len);
    for (size_t i = 0; i < count; i++) {
        struct span name = names[i];
        if (name.len > wanted.len + DISTANCE_MAX || name.len + DISTANCE_MAX < wanted.len) continue;
        size_t distance = distance_of(name, wanted);
        if (distance >= too_far) continue;
        too_far = distance;
        nearest = name;
    }
    return nearest;
}
