/* rule_values: values of an attribute at which a condition may answer differently.
 *
 * For whoever looks for a session that meets a condition, or does not. The literals that the
 * attribute is compared with cut its values into stretches; here is one value of each. Where two
 * attributes are compared with each other there is no literal, and a few small values stand in.
 *
 * Threads: any. Ownership: strings lie in the condition or in `out`. Not for the request path. */
#ifndef INTERLUDE_RULE_RULE_VALUES_H
#define INTERLUDE_RULE_RULE_VALUES_H

#include "rule/rule.h"

/* A text that is tried where a text is compared; it comes right after the literals. */
#define RULE_VALUES_TEXT "drill"

enum { RULE_VALUES_MAX = 256, RULE_VALUES_BYTES_MAX = 4096 };

struct rule_values {
    int count; /* what does not fit is left out */
    union attribute_value values[RULE_VALUES_MAX];
    size_t bytes;
    char memory[RULE_VALUES_BYTES_MAX];
};

/* Of the attribute in `slot`, whose type in the schema is `type`. At least one. */
void rule_values(const struct rule *rule, int slot, enum attribute_type type,
                 struct rule_values *out);

#endif
