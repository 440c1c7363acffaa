#include "serve/body_write.h"

#include "decide/request.h"
#include "wire/json_write.h"

void body_put_value(struct buf *b, enum attribute_type type, union attribute_value value)
{
    switch (type) {
    case ATTRIBUTE_BOOL:
        buf_span(b, value.b ? SPAN("true") : SPAN("false"));
        break;
    case ATTRIBUTE_INT:
        buf_i64(b, value.i);
        break;
    case ATTRIBUTE_DOUBLE:
        json_write_double(b, value.d);
        break;
    case ATTRIBUTE_STRING:
        json_write_string(b, value.s);
        break;
    }
}

void body_put_time(struct buf *b, const struct plan *plan, const struct attributes *wanted,
                   int64_t wall_us)
{
    bool hour = attribute_known(wanted, ATTRIBUTE_SLOT_HOUR);
    bool weekday = attribute_known(wanted, ATTRIBUTE_SLOT_WEEKDAY);
    if (!hour && !weekday) return;
    const int64_t hour_s = 3600, day_s = 24 * hour_s;
    int64_t local_s = wall_us / 1000000 + plan->timezone_offset_s;
    int64_t day = local_s / day_s, at_hour = local_s % day_s / hour_s;
    if (hour) at_hour = wanted->values[ATTRIBUTE_SLOT_HOUR].i;
    /* 1970-01-01 was a Thursday. */
    if (weekday) day += (wanted->values[ATTRIBUTE_SLOT_WEEKDAY].i - (day + 4) % 7 + 7) % 7;
    json_write_key(b, SPAN("time"));
    buf_char(b, '"');
    request_time_write(b, (day * day_s + at_hour * hour_s - plan->timezone_offset_s) * 1000000);
    buf_char(b, '"');
}
