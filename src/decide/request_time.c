/* RFC 3339 times and microseconds since 1970. The calendar arithmetic counts days from 0000-03-01
 * in eras of 400 years, so that leap days come last (Hinnant, "chrono-compatible low-level date
 * algorithms"). */
#include "decide/request.h"

#define YEAR_0_S INT64_C(-62167219200)
#define YEAR_10000_S INT64_C(253402300800)

static bool digits(struct span text, size_t at, int count, int *out)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (at + (size_t)i >= text.len) return false;
        char c = text.data[at + (size_t)i];
        if (c < '0' || c > '9') return false;
        value = value * 10 + (c - '0');
    }
    *out = value;
    return true;
}

static int64_t days_from_civil(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static bool date_valid(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1) return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= days[month - 1] + (month == 2 && leap);
}

/* ".123456789" at `at`: any number of digits; gives microseconds and moves `at` behind. */
static bool fraction(struct span text, size_t *at, int *us)
{
    *us = 0;
    if (*at >= text.len || text.data[*at] != '.') return true;
    size_t first = ++*at;
    int scale = 100000;
    for (int digit; digits(text, *at, 1, &digit); ++*at, scale /= 10) *us += digit * scale;
    return *at > first;
}

bool request_time_read(struct span text, int64_t *us)
{
    int year, month, day, hour, minute, second, micro, zone_s = 0;
    if (text.len < 20 || !digits(text, 0, 4, &year) || text.data[4] != '-' ||
        !digits(text, 5, 2, &month) || text.data[7] != '-' || !digits(text, 8, 2, &day) ||
        (text.data[10] | 0x20) != 't' || !digits(text, 11, 2, &hour) || text.data[13] != ':' ||
        !digits(text, 14, 2, &minute) || text.data[16] != ':' || !digits(text, 17, 2, &second))
        return false;
    if (!date_valid(year, month, day) || hour > 23 || minute > 59 || second > 60) return false;

    size_t at = 19;
    if (!fraction(text, &at, &micro) || at >= text.len) return false;
    char zone = text.data[at++];
    if (zone == '+' || zone == '-') {
        int zone_hour, zone_minute;
        if (!digits(text, at, 2, &zone_hour) || at + 2 >= text.len || text.data[at + 2] != ':' ||
            !digits(text, at + 3, 2, &zone_minute) || zone_hour > 23 || zone_minute > 59)
            return false;
        zone_s = (zone_hour * 60 + zone_minute) * 60;
        if (zone == '-') zone_s = -zone_s;
        at += 5;
    } else if ((zone | 0x20) != 'z') {
        return false;
    }
    if (at != text.len) return false;

    /* A leap second comes at the end of a day, UTC, and counts as the second after it. */
    int utc_s = hour * 3600 + minute * 60 - zone_s;
    if (second == 60 && (utc_s + 86400 * 2) % 86400 != 86340) return false;
    int64_t s = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    int64_t at_us = (s - zone_s) * 1000000 + micro;
    if (!request_time_is_told(at_us)) return false; /* an answer could not tell it */
    *us = at_us;
    return true;
}

bool request_time_is_told(int64_t us)
{
    return us >= YEAR_0_S * 1000000 && us < YEAR_10000_S * 1000000;
}

static void put_digits(char *at, int64_t value, int count)
{
    for (int i = count - 1; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
}

void request_time_write(struct buf *b, int64_t us)
{
    char *at = buf_take(b, 24);
    if (!at) return;
    const int64_t day_us = (int64_t)86400 * 1000000;
    int64_t day = us / day_us - (us % day_us < 0);
    int64_t ms = (us - day * day_us) / 1000;

    int64_t z = day + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;
    int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;

    memcpy(at, "0000-00-00T00:00:00.000Z", 24);
    put_digits(at, year_of_era + era * 400 + (month <= 2), 4);
    put_digits(at + 5, month, 2);
    put_digits(at + 8, day_of_year - (153 * shifted_month + 2) / 5 + 1, 2);
    put_digits(at + 11, ms / 3600000, 2);
    put_digits(at + 14, ms / 60000 % 60, 2);
    put_digits(at + 17, ms / 1000 % 60, 2);
    put_digits(at + 20, ms % 1000, 3);
}
