#include "serve/text.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

bool texts_init(struct texts *t, size_t text_bytes)
{
    text_bytes = (text_bytes + PAGE - 1) / PAGE * PAGE;
    *t = (struct texts){.text_bytes = text_bytes};
    char *memory = mmap(NULL, TEXTS_MAX * text_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    t->memory = memory;
    for (size_t i = 0; i < TEXTS_MAX; i++) t->all[i].data = memory + i * text_bytes;
    return true;
}

void texts_done(struct texts *t)
{
    if (t->memory) munmap(t->memory, TEXTS_MAX * t->text_bytes);
    *t = (struct texts){0};
}

struct text *text_find(struct texts *t, int kind, uint64_t now_ns)
{
    for (struct text *text = t->all; text < t->all + TEXTS_MAX; text++)
        if (text->serial && text->kind == kind &&
            now_ns < text->since_ns + TEXT_SHARED_MS * 1000000ull)
            return text;
    return NULL;
}

/* One that nobody holds: of that kind or never used, the lowest, so that what was never needed
 * stays untouched; else of another kind, which may still be shared. Else the oldest. */
static struct text *text_choose(struct texts *t, int kind)
{
    struct text *oldest = t->all, *unheld = NULL;
    for (struct text *text = t->all; text < t->all + TEXTS_MAX; text++) {
        if (text->serial < oldest->serial) oldest = text;
        if (text->holds) continue;
        if (!text->serial || text->kind == kind) return text;
        if (!unheld || text->serial < unheld->serial) unheld = text;
    }
    return unheld ? unheld : oldest;
}

struct text *text_begin(struct texts *t, int kind, struct buf *out, uint32_t *cut)
{
    struct text *text = text_choose(t, kind);
    *cut += text->holds;
    *text = (struct text){.data = text->data, .kind = kind};
    *out = buf_of(text->data, t->text_bytes);
    return text;
}

void text_written(struct texts *t, struct text *text, const struct buf *out, uint64_t now_ns)
{
    text->len = out->len;
    text->since_ns = now_ns;
    text->serial = ++t->serial;
}

struct text_hold text_hold(struct text *text)
{
    text->holds++;
    return (struct text_hold){text, text->serial};
}

void text_release(struct text_hold *hold)
{
    if (hold->text && text_is_valid(hold)) hold->text->holds--;
    *hold = (struct text_hold){0};
}
