#include "wire/http_write.h"

#include "wire/json_write.h"

/* Every uint32_t fits. */
enum { LENGTH_WIDTH = 10 };
#define LENGTH_BLANKS "          "
_Static_assert(sizeof LENGTH_BLANKS == LENGTH_WIDTH + 1, "a column of blanks");

#define HEAD_TAIL "\r\n\r\n"
enum { HEAD_TAIL_LEN = sizeof HEAD_TAIL - 1 };

const char *http_reason(int status)
{
    switch (status) {
    case 100:
        return "Continue";
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 411:
        return "Length Required";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 415:
        return "Unsupported Media Type";
    case 417:
        return "Expectation Failed";
    case 421:
        return "Misdirected Request";
    case 422:
        return "Unprocessable Content";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    default:
        return "";
    }
}

static void digits_put(char *at, int count, int64_t value)
{
    while (count-- > 0) {
        at[count] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* The calendar begins in March here, so that the day that comes and goes is a year's last; 146,097
 * days are 400 years. */
void http_date_write(char line[HTTP_DATE_BYTES], int64_t unix_s)
{
    static const char weekdays[] = "ThuFriSatSunMonTueWed";
    static const char months[] = "MarAprMayJunJulAugSepOctNovDecJanFeb";
    int64_t days = unix_s / 86400, second = unix_s % 86400;
    int64_t since = days + 719468; /* since 1 March of the year 0 */
    int64_t day_of_era = since % 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day + 2) / 153; /* 0: March */
    int64_t year = since / 146097 * 400 + year_of_era + (month >= 10);

    memcpy(line, "Date: ***, 00 *** 0000 00:00:00 GMT\r\n", HTTP_DATE_BYTES);
    memcpy(line + 6, weekdays + days % 7 * 3, 3);
    digits_put(line + 11, 2, day - (153 * month + 2) / 5 + 1);
    memcpy(line + 14, months + month * 3, 3);
    digits_put(line + 18, 4, year);
    digits_put(line + 23, 2, second / 3600);
    digits_put(line + 26, 2, second / 60 % 60);
    digits_put(line + 29, 2, second % 60);
}

size_t http_head_begin(struct buf *b, const struct http_head *head)
{
    if (head->status == 200) {
        buf_lit(b, "HTTP/1.1 200 OK\r\n");
    } else {
        buf_lit(b, "HTTP/1.1 ");
        buf_u64(b, (uint64_t)head->status);
        buf_char(b, ' ');
        buf_span(b, span_of(http_reason(head->status)));
        buf_lit(b, "\r\n");
    }
    if (head->date && head->status >= 200) buf_put(b, head->date, HTTP_DATE_BYTES);
    if (head->content_type) {
        buf_lit(b, "Content-Type: ");
        buf_span(b, span_of(head->content_type));
        buf_lit(b, "\r\n");
    }
    if (head->fields) buf_span(b, span_of(head->fields));
    if (head->extra) buf_span(b, span_of(head->extra));
    if (head->close)
        buf_lit(b, "Connection: close\r\n");
    else if (head->keep_alive_1_0)
        buf_lit(b, "Connection: keep-alive\r\n");
    if (head->status < 200 || head->status == 204) {
        buf_lit(b, "\r\n");
        return 0;
    }
    buf_lit(b, "Content-Length: " LENGTH_BLANKS HEAD_TAIL);
    return b->full ? 0 : b->len - HEAD_TAIL_LEN - LENGTH_WIDTH;
}

void http_head_end(struct buf *b, size_t mark)
{
    http_head_end_apart(b, mark, b->len - mark - LENGTH_WIDTH - HEAD_TAIL_LEN);
}

void http_head_end_apart(struct buf *b, size_t mark, size_t length)
{
    if (mark == 0 || b->full) return;
    size_t at = mark + LENGTH_WIDTH;
    INVARIANT(length <= UINT32_MAX);
    do b->data[--at] = (char)('0' + length % 10);
    while (length /= 10);
}

static int problem_status(const struct err *e)
{
    int status = e->status ? e->status : err_status(e->code);
    return status ? status : 500;
}

static bool has_offset(enum err_code code)
{
    return code == ERR_JSON_SYNTAX || code == ERR_JSON_DEPTH || code == ERR_JSON_DUPLICATE_KEY ||
           code == ERR_HTTP_SYNTAX;
}

void http_write_problem_body(struct buf *b, const struct err *e)
{
    buf_lit(b, "{\"type\":\"about:blank\",\"title\":");
    json_write_string(b, span_of(err_title(e->code)));
    buf_lit(b, ",\"status\":");
    buf_u64(b, (uint64_t)problem_status(e));
    buf_lit(b, ",\"code\":");
    json_write_string(b, span_of(err_name(e->code)));
    if (e->text[0]) {
        buf_lit(b, ",\"detail\":");
        json_write_printed(b, span_of(e->text));
    }
    if (e->pointer[0]) {
        buf_lit(b, ",\"pointer\":");
        json_write_printed(b, span_of(e->pointer));
    }
    if (has_offset(e->code)) {
        buf_lit(b, ",\"offset\":");
        buf_u64(b, e->offset);
    }
    if (e->line) {
        buf_lit(b, ",\"line\":");
        buf_u64(b, e->line);
    }
    if (e->column) {
        buf_lit(b, ",\"column\":");
        buf_u64(b, e->column);
    }
    buf_char(b, '}');
}

void http_write_problem(struct buf *b, const struct err *e, const struct http_head *head,
                        bool head_only)
{
    struct http_head own = *head;
    own.status = problem_status(e);
    own.content_type = "application/problem+json";
    size_t mark = http_head_begin(b, &own), body_at = b->len;
    http_write_problem_body(b, e);
    buf_char(b, '\n');
    http_head_end(b, mark);
    if (head_only && !b->full) b->len = body_at;
}
