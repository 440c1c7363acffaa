/* token: the words of a condition. CEL's lexis, decoded as it is read.
 *
 * What CEL has and conditions do not (bytes, uint) is refused here, with those words. Threads: one
 * at a time. Ownership: decoded strings live in the lexer's scratch arena. */
#ifndef INTERLUDE_RULE_TOKEN_H
#define INTERLUDE_RULE_TOKEN_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

/* Operators of one precedence stand together, loosest first: syntax.c reads ranges of them. */
enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_RESERVED, /* `null`, and the words that CEL keeps for its hosts */
    TOKEN_BOOL,
    TOKEN_INT,
    TOKEN_DOUBLE,
    TOKEN_STRING,
    TOKEN_QUESTION,
    TOKEN_COLON,
    TOKEN_OR,
    TOKEN_AND,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_LESS,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER,
    TOKEN_GREATER_EQUAL,
    TOKEN_IN,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_STAR,
    TOKEN_SLASH,
    TOKEN_PERCENT,
    TOKEN_NOT,
    TOKEN_LEFT_PAREN,
    TOKEN_RIGHT_PAREN,
    TOKEN_LEFT_BRACKET,
    TOKEN_RIGHT_BRACKET,
    TOKEN_LEFT_BRACE,
    TOKEN_RIGHT_BRACE,
    TOKEN_DOT,
    TOKEN_COMMA,
};

struct token {
    enum token_kind kind;
    uint32_t at, end; /* its bytes: text[at, end) */
    union {
        bool b;
        uint64_t magnitude; /* of an int; at most 2^63: a minus before it is the parser's */
        double d;           /* finite */
        struct span s;      /* UTF-8, escapes resolved */
    };
};

struct lexer {
    struct span text;
    uint32_t at;
    char *strings; /* where the next string is decoded to */
    struct arena *scratch;
    struct err *e;
};

/* Of a text of at most RULE_TEXT_BYTES_MAX bytes; text, scratch and e outlive the lexer. */
void lexer_init(struct lexer *lexer, struct span text, struct arena *scratch, struct err *e);

/* Reads the next token. False: e is filled, ERR_RULE. */
bool token_next(struct lexer *lexer, struct token *out) MUST_CHECK;

/* The token in words, for "found ...": its text in backquotes, "a string" or "the end". */
struct token_words {
    char text[48];
};
struct token_words token_describe(struct span text, const struct token *token);

/* Fills *e (which may be NULL) with ERR_RULE, `at` as its offset and the text; returns false. */
bool rule_fail(struct err *e, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
