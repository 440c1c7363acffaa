/* emit: for each site of the table, the two functions that tell it, with a parameter a field.
 *
 *   record_plan_reloaded(r, wall_us, version, fingerprint, message) makes the record;
 *   emit_plan_reloaded(writer, wall_us, version, fingerprint, message) counts the firing and,
 * unless the site is closed, makes the record and places it.
 *
 * Both are made by the preprocessor, from the site's list of fields in signal_table.h; so is its
 * row in docs/signals.md. Each field has a type of its own: struct field_version is what the
 * function field_version() makes of a text. So it does not compile to tell a field that the site's
 * list does not have, to forget one that it has, to swap two, or to give one what is not of its
 * kind.
 *
 * Private to the room. Threads: as writer.h. What is given is copied. */
#ifndef INTERLUDE_SIGNAL_EMIT_H
#define INTERLUDE_SIGNAL_EMIT_H

#include "signal/writer.h"

/* By kind: what a field is made of, and what puts it into a record. */
#define EMIT_KIND_TEXT(X, name) X(name, struct span, record_text)
#define EMIT_KIND_LIST(X, name) X(name, struct names, record_list)
#define EMIT_KIND_NUMBER(X, name) X(name, int64_t, record_number)
#define EMIT_KIND_PLACE(X, name) X(name, int64_t, record_place)
#define EMIT_KIND_COUNTS(X, name) X(name, const uint64_t *, record_counts)
#define EMIT_KIND_FLAG(X, name) X(name, bool, record_flag)

#define EMIT_FIELD_OF_KIND(name, type, record_kind)                            \
    struct field_##name {                                                      \
        type value;                                                            \
    };                                                                         \
    static inline struct field_##name field_##name(type value)                 \
    {                                                                          \
        return (struct field_##name){value};                                   \
    }                                                                          \
    static inline void put_##name(struct record *r, struct field_##name field) \
    {                                                                          \
        record_kind(r, FIELD_##name, field.value);                             \
    }
#define EMIT_FIELD(name, kind) EMIT_KIND_##kind(EMIT_FIELD_OF_KIND, name)
SIGNAL_FIELDS(EMIT_FIELD)

/* Inlined, always: the fields of a request's sites are too many to be handed over in registers. */
#define EMIT_INLINE static inline __attribute__((always_inline))

#define EMIT_PARAMETER(name) , struct field_##name name
#define EMIT_ARGUMENT(name) , name
#define EMIT_PUT(name) put_##name(r, name);
#define EMIT_SITE(suffix, name, level, expected, budget, fields, ...)                        \
    EMIT_INLINE void record_##name(struct record *r, int64_t wall_us fields(EMIT_PARAMETER)) \
    {                                                                                        \
        record_init(r, SITE_##suffix, wall_us);                                              \
        fields(EMIT_PUT)                                                                     \
    }                                                                                        \
    EMIT_INLINE void emit_##name(struct signal_writer *writer,                               \
                                 int64_t wall_us fields(EMIT_PARAMETER))                     \
    {                                                                                        \
        struct record r;                                                                     \
        if (!writer_fire(writer, SITE_##suffix)) return;                                     \
        record_##name(&r, wall_us fields(EMIT_ARGUMENT));                                    \
        writer_place(writer, &r);                                                            \
    }
SIGNAL_SITES(EMIT_SITE)

#endif
