/* Three ways to the same correctly rounded result, each taken only where it is proven to be right:
 *
 * 1. Up to 2^53 times or divided by a power of ten up to 10^22: both are exact as doubles, so one
 *    IEEE operation rounds once.
 * 2. Up to 19 digits: Eisel-Lemire. The digits times 5^q, taken from a table of 128 bits, give
 *    enough leading bits to round (Lemire, "Number parsing at a gigabyte per second", 2021; that
 *    nothing needs a second look for 64-bit digits: Mushtak and Lemire, "Fast number parsing
 *    without fallback", 2023).
 * 3. More digits: the first 19, and the same plus one, enclose the number. Where both round alike,
 *    that is the answer. Else they give two neighbouring doubles, and the point halfway between
 *    those is compared with the number, exactly, in big integers of a fixed size.
 *
 * What a caller can make this cost is bounded: the exact comparison reads at most DIGITS_MAX
 * digits, and its integers never outgrow BIG_LIMBS_MAX. */
#include "base/decimal.h"
#include "base/decimal_table.h"
#include "base/err.h"

#include <float.h>

_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");

enum {
    WORD_DIGITS = 19,   /* as many as always fit a uint64_t */
    TEN_EXACT_MAX = 22, /* 10^22 is the largest power of ten that is a double */
    MANTISSA_BITS = 52,
    EXPONENT_BIAS = 1023,
    EXPONENT_LARGEST = 0x7ff,

    /* The point between two doubles has at most 768 digits: whatever differs from it, but not
     * within so many, differs by a rest whose size no longer matters. */
    DIGITS_MAX = 800,
    /* The smallest numbers: 801 digits against 5^(801 + 323) times 54 bits, 2,665 bits. */
    BIG_LIMBS_MAX = 48,
    FIVES_A_LIMB = 27, /* 5^27 is the largest power of five in a uint64_t */
};

/* No text is long enough to make up for such an exponent; so it may stand for any larger one. */
static const int64_t exponent_limit = (int64_t)1 << 56;

static const double ten_exact[TEN_EXACT_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* clang-format off */
static const uint64_t ten_whole[WORD_DIGITS] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
    10000000000u, 100000000000u, 1000000000000u, 10000000000000u, 100000000000000u,
    1000000000000000u, 10000000000000000u, 100000000000000000u, 1000000000000000000u,
};
/* clang-format on */

/* ---- the text ---- */

struct written {
    const char *digits, *dot,
        *digits_end;  /* dot: where it stands, or digits_end where there is none */
    size_t length;    /* of the whole number, sign and exponent included */
    uint64_t word;    /* all the digits as one integer, modulo 2^64 */
    int64_t exponent; /* what follows the e */
    bool negative;
};

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline uint64_t load_little(const char *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* Each byte in '0'..'9': its high half is 3, and stays 3 when 6 is added. */
static inline bool are_eight_digits(uint64_t x)
{
    const uint64_t high = 0xf0f0f0f0f0f0f0f0u;
    return ((x & high) | (((x + 0x0606060606060606u) & high) >> 4)) == 0x3333333333333333u;
}

/* The high bit of each byte that is no digit. A carry may set that of a byte further on, but of
 * none before the first that is no digit; and only the first counts. */
static inline uint64_t not_digits(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u;
    x ^= ones * '0';
    return ((x + ones * (0x80 - 10)) | x) & ones * 0x80;
}

/* Neighbours become pairs, pairs fours, fours the eight: each step in one multiplication. */
static inline uint64_t eight_digits(uint64_t x)
{
    x = (x & 0x0f0f0f0f0f0f0f0fu) * (1 + (10u << 8)) >> 8;
    x = (x & 0x00ff00ff00ff00ffu) * (1 + (100u << 16)) >> 16;
    return (x & 0x0000ffff0000ffffu) * (1 + ((uint64_t)10000 << 32)) >> 32;
}

static inline const char *digits_scan(const char *at, const char *end, uint64_t *word)
{
    uint64_t w = *word;
    while (end - at >= 8) {
        uint64_t eight = load_little(at);
        if (!are_eight_digits(eight)) break;
        w = w * 100000000u + eight_digits(eight);
        at += 8;
    }
    while (at < end && is_digit(*at)) w = w * 10 + (uint64_t)(*at++ - '0');
    *word = w;
    return at;
}

/* From the e on; NULL if no digit follows. */
static const char *exponent_scan(const char *at, const char *end, int64_t *exponent)
{
    at++;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || !is_digit(*at)) return NULL;
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++) {
        value = value * 10 + (*at - '0');
        if (value > exponent_limit) value = exponent_limit;
    }
    *exponent = negative ? -value : value;
    return at;
}

static inline bool number_scan(struct span text, struct written *n)
{
    if (text.len == 0) return false;
    const char *at = text.data, *end = text.data + text.len;
    n->negative = *at == '-';
    at += n->negative;
    n->word = 0;
    n->exponent = 0;
    n->digits = at;
    while (at < end && is_digit(*at)) n->word = n->word * 10 + (uint64_t)(*at++ - '0');
    if (at == n->digits || (*n->digits == '0' && at - n->digits > 1)) return false;
    n->dot = at;
    if (at < end && *at == '.') {
        at = digits_scan(at + 1, end, &n->word);
        if (at == n->dot + 1) return false;
    }
    n->digits_end = at;
    if (at < end && (*at == 'e' || *at == 'E') && !(at = exponent_scan(at, end, &n->exponent)))
        return false;
    n->length = (size_t)(at - text.data);
    return true;
}

/* The power of ten of the digit at `at`. */
static inline int64_t digit_place(const struct written *n, const char *at)
{
    return n->exponent + (at < n->dot ? n->dot - at - 1 : n->dot - at);
}

/* ---- up to 19 digits ---- */

static inline double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits of the double nearest to word * 10^q. */
static uint64_t word_round(uint64_t word, int64_t q)
{
    const uint64_t infinite = (uint64_t)EXPONENT_LARGEST << MANTISSA_BITS;
    if (word == 0 || q < FIVE_SMALLEST) return 0;
    if (q > FIVE_LARGEST) return infinite;

    int zeros = __builtin_clzll(word);
    word <<= zeros;
    const uint64_t *five = five_powers[q - FIVE_SMALLEST];
    unsigned __int128 product = (unsigned __int128)word * five[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    /* Only where the bits below those that are kept are all ones can the rest of 5^q carry in. */
    if ((high & 0x1ff) == 0x1ff) {
        uint64_t more = (uint64_t)((unsigned __int128)word * five[1] >> 64);
        low += more;
        high += low < more;
    }

    int top = (int)(high >> 63);
    int shift = top + 64 - MANTISSA_BITS - 3;
    uint64_t mantissa = high >> shift; /* 53 bits and one to round by */
    /* 217706 / 2^16 is log2(10), close enough for the floor over the whole table. */
    int64_t exponent = (217706 * q >> 16) + 63 + top - zeros + EXPONENT_BIAS;

    if (exponent <= 0) { /* subnormal; a round up to 2^52 becomes the smallest normal by itself */
        if (exponent < -62) return 0;
        mantissa >>= 1 - exponent;
        return (mantissa + (mantissa & 1)) >> 1;
    }
    /* Exactly between two doubles, which only these powers allow: an even one below keeps it. */
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << shift == high)
        mantissa &= ~(uint64_t)1;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    /* Adding carries a mantissa that was rounded up to 2^53 into the exponent. */
    uint64_t bits = ((uint64_t)(exponent - 1) << MANTISSA_BITS) + mantissa;
    return bits < infinite ? bits : infinite;
}

static bool word_integer(uint64_t word, int64_t q, bool negative, int64_t *out)
{
    const uint64_t limit = (uint64_t)1 << 63;
    if (word == 0) q = 0;
    if (q < 0) {
        /* 10^n divides nothing that 2^n does not divide: that spares most fractions a division. */
        if (q <= -WORD_DIGITS || __builtin_ctzll(word) < -q || word % ten_whole[-q]) return false;
        word /= ten_whole[-q];
    } else if (q > 0) {
        if (q >= WORD_DIGITS || word > limit / ten_whole[q]) return false;
        word *= ten_whole[q];
    }
    if (word > limit - !negative) return false;
    *out = negative ? (int64_t)(0 - word) : (int64_t)word;
    return true;
}

static inline void word_value(uint64_t word, int64_t q, bool negative, struct decimal *out)
{
    double value;
    if (word <= (uint64_t)1 << 53 && q >= -TEN_EXACT_MAX && q <= TEN_EXACT_MAX)
        value = q < 0 ? (double)word / ten_exact[-q] : (double)word * ten_exact[q];
    else
        value = from_bits(word_round(word, q));
    out->value = negative ? -value : value;
    out->integer = 0;
    out->integral = word_integer(word, q, negative, &out->integer);
}

/* ---- more digits: exactly ---- */

struct big {
    uint64_t limb[BIG_LIMBS_MAX]; /* the lowest first */
    size_t count;                 /* the highest of them is not 0 */
};

static void big_push(struct big *b, uint64_t limb)
{
    if (limb == 0) return;
    INVARIANT(b->count < BIG_LIMBS_MAX);
    b->limb[b->count++] = limb;
}

static void big_multiply_add(struct big *b, uint64_t factor, uint64_t addend)
{
    for (size_t i = 0; i < b->count; i++) {
        unsigned __int128 product = (unsigned __int128)b->limb[i] * factor + addend;
        b->limb[i] = (uint64_t)product;
        addend = (uint64_t)(product >> 64);
    }
    big_push(b, addend);
}

static void big_multiply_five(struct big *b, int64_t power)
{
    const uint64_t five_a_limb = 7450580596923828125u;
    for (; power >= FIVES_A_LIMB; power -= FIVES_A_LIMB) big_multiply_add(b, five_a_limb, 0);
    uint64_t rest = 1;
    while (power-- > 0) rest *= 5;
    big_multiply_add(b, rest, 0);
}

static void big_shift_left(struct big *b, int64_t bits)
{
    int part = (int)(bits % 64);
    size_t whole = (size_t)(bits / 64);
    if (part) {
        uint64_t carry = 0;
        for (size_t i = 0; i < b->count; i++) {
            uint64_t limb = b->limb[i];
            b->limb[i] = limb << part | carry;
            carry = limb >> (64 - part);
        }
        big_push(b, carry);
    }
    INVARIANT(whole <= BIG_LIMBS_MAX - b->count);
    memmove(b->limb + whole, b->limb, b->count * sizeof b->limb[0]);
    memset(b->limb, 0, whole * sizeof b->limb[0]);
    b->count += whole;
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (size_t i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* The digits in [at, end), of which the last is not 0, as an integer times 10^*place. Digits beyond
 * DIGITS_MAX become a single 1: that they are there is all that matters. */
static void big_digits(struct big *b, const struct written *n, const char *at, const char *end,
                       int64_t *place)
{
    b->count = 0;
    uint64_t word = 0;
    int taken = 0, in_word = 0;
    const char *last = at;
    for (; at < end && taken < DIGITS_MAX; at++) {
        if (*at == '.') continue;
        word = word * 10 + (uint64_t)(*at - '0');
        last = at;
        taken++;
        if (++in_word == WORD_DIGITS - 1) {
            big_multiply_add(b, ten_whole[in_word], word);
            word = 0;
            in_word = 0;
        }
    }
    big_multiply_add(b, ten_whole[in_word], word);
    *place = digit_place(n, last);
    if (at == end) return;
    big_multiply_add(b, 10, 1);
    *place -= 1;
}

/* The number, which lies between the doubles `below` and below + 1 (as bits), against the point
 * halfway between those two: -1, 0 or 1. */
static int halfway_compare(const struct written *n, const char *at, const char *end, uint64_t below)
{
    struct big number, halfway = {.count = 0};
    int64_t place;
    big_digits(&number, n, at, end, &place);

    uint64_t mantissa = below & (((uint64_t)1 << MANTISSA_BITS) - 1);
    int64_t exponent = (int64_t)(below >> MANTISSA_BITS);
    if (exponent > 0)
        mantissa |= (uint64_t)1 << MANTISSA_BITS;
    else
        exponent = 1;
    big_push(&halfway, 2 * mantissa + 1);
    int64_t halfway_twos = exponent - EXPONENT_BIAS - MANTISSA_BITS - 1;

    /* number * 5^place * 2^place against halfway * 2^halfway_twos, with no negative power left. */
    if (place >= 0)
        big_multiply_five(&number, place);
    else
        big_multiply_five(&halfway, -place);
    if (place >= halfway_twos)
        big_shift_left(&number, place - halfway_twos);
    else
        big_shift_left(&halfway, halfway_twos - place);
    return big_compare(&number, &halfway);
}

/* More than 19 digits are written. Zeros at either end may be all there is to it. */
static void long_value(const struct written *n, struct decimal *out)
{
    const char *at = n->digits, *end = n->digits_end;
    while (at < end && (*at == '0' || *at == '.')) at++;
    while (at < end && (end[-1] == '0' || end[-1] == '.')) end--;

    uint64_t word = 0;
    int64_t q = 0;
    const char *next = at;
    for (int taken = 0; next < end && taken < WORD_DIGITS; next++) {
        if (*next == '.') continue;
        word = word * 10 + (uint64_t)(*next - '0');
        q = digit_place(n, next);
        taken++;
    }
    if (next == end) {
        word_value(word, q, n->negative, out);
        return;
    }
    uint64_t bits = word_round(word, q);
    if (word_round(word + 1, q) != bits) {
        int side = halfway_compare(n, at, end, bits);
        if (side > 0 || (side == 0 && (bits & 1))) bits++;
    }
    double value = from_bits(bits);
    out->value = n->negative ? -value : value;
    /* The last digit is not 0: there is a fraction, or the number is over 10^19. */
    out->integral = false;
    out->integer = 0;
}

/* Not inlined, so that a short integer pays nothing for what this keeps on the stack. */
static __attribute__((noinline)) size_t number_read(struct span text, struct decimal *out)
{
    struct written n;
    if (!number_scan(text, &n)) return 0;
    bool has_dot = n.dot < n.digits_end;
    if (n.digits_end - n.digits - has_dot <= WORD_DIGITS)
        word_value(n.word, digit_place(&n, n.digits_end - 1), n.negative, out);
    else
        long_value(&n, out);
    return n.length;
}

/* What most numbers of a request are: at most seven digits, and nothing that makes them more than
 * an integer. Returns the length; 0 if the number is another, or is wrong, or the text is nearly at
 * its end. */
static inline size_t short_integer_read(struct span text, struct decimal *out)
{
    if (text.len < 9) return 0;
    const bool negative = text.data[0] == '-';
    const char *at = text.data + negative;
    uint64_t x = load_little(at), others = not_digits(x);
    if (!others) return 0;
    unsigned digits = (unsigned)__builtin_ctzll(others) / 8;
    if (digits == 0 || (digits > 1 && *at == '0')) return 0;
    if (at[digits] == '.' || (at[digits] | 0x20) == 'e') return 0;
    /* In front of them go zeros. */
    int64_t word = (int64_t)eight_digits(x << (64 - 8 * digits));
    double value = (double)word;
    *out = (struct decimal){negative ? -value : value, true, negative ? -word : word};
    return digits + negative;
}

size_t decimal_read(struct span text, struct decimal *out)
{
    size_t len = short_integer_read(text, out);
    return len ? len : number_read(text, out);
}

size_t decimal_length(struct span text)
{
    struct written n;
    return number_scan(text, &n) ? n.length : 0;
}
