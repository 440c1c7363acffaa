#include "rule/attribute.h"

void attribute_schema_init(struct attribute_schema *schema)
{
    static const struct attribute built_in[] = {
#define ATTRIBUTE_ROW(suffix, name, type, source) \
    [ATTRIBUTE_SLOT_##suffix] = {{(name), sizeof(name) - 1}, type, source},
        ATTRIBUTES_BUILT_IN(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
    };
    *schema = (struct attribute_schema){.count = ATTRIBUTE_BUILT_IN_COUNT};
    memcpy(schema->attributes, built_in, sizeof built_in);
}

int attribute_schema_find(const struct attribute_schema *schema, struct span name)
{
    for (uint32_t i = 0; i < schema->count; i++)
        if (span_equal(schema->attributes[i].name, name)) return (int)i;
    return -1;
}

const char *attribute_type_name(enum attribute_type type)
{
    static const char *const names[] = {"bool", "int", "double", "string"};
    return names[type];
}
