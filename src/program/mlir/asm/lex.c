// Characters, words, strings and errors of MLIR text.
#include "base/alloc.h"
#include "program/mlir/asm/reader.h"

void rk_asm_fail(rk_asm *p, const char *static_why) {
    if (p->failed)
        return;
    p->failed = true;
    p->why = static_why;
    p->failed_at = p->at;
}

void rk_asm_describe_failure(const rk_asm *p, rk_buf *out_reason) {
    size_t line = 1;
    const uint8_t *at = p->start;
    while (at < p->failed_at && (at = memchr(at, '\n', (size_t)(p->failed_at - at)))) {
        line++;
        at++;
    }
    rk_buf_add_format(out_reason, "MLIR text, line %zu: %s", line, p->why ? p->why : "no memory");
}

void rk_asm_out_of_memory(rk_asm *p) {
    p->failed = true;
    p->model->out_of_memory = true;
}

void rk_asm_cleanup(rk_asm *p) {
    rk_interner_cleanup(&p->names);
    rk_interner_cleanup(&p->type_texts);
    rk_interner_cleanup(&p->aliases);
    rk_interner_cleanup(&p->value_names);
    rk_interner_cleanup(&p->attr_lists);
    rk_interner_cleanup(&p->resource_keys);
    rk_free(p->attr_nodes.items);
    rk_free(p->regions.items);
    rk_buf_cleanup(&p->ints);
    rk_free(p->name_ids.items);
    rk_free(p->node_slots);
    rk_free(p->type_nodes.items);
    rk_free(p->alias_nodes.items);
    rk_free(p->fields.items);
    rk_free(p->nodes.items);
    rk_free(p->resources.items);
    rk_free(p->pendings.items);
    rk_free(p->named.items);
    rk_free(p->numbered.items);
    rk_free(p->undos.items);
    rk_free(p->places.items);
    rk_free(p->counts.items);
    rk_free(p->op_regions.items);
    rk_free(p->targets.items);
}

bool rk_asm_grow(rk_asm *p, void **items, uint32_t *capacity, uint64_t needed, size_t item_bytes) {
    enum { FIRST_CAPACITY = 64 };
    if (needed <= *capacity)
        return true;
    uint64_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
    while (wanted < needed)
        wanted *= 2;
    uint8_t *grown = NULL;
    size_t more = (size_t)(wanted - *capacity) * item_bytes;
    if (wanted < RK_NO_ID && rk_model_take_budget(p->model, more))
        grown = rk_realloc(*items, (size_t)wanted * item_bytes);
    if (!grown) {
        rk_asm_out_of_memory(p);
        return false;
    }
    memset(grown + (size_t)*capacity * item_bytes, 0, more);
    *items = grown;
    *capacity = (uint32_t)wanted;
    return true;
}

void rk_asm_skip_blanks(rk_asm *p) {
    for (; p->at < p->end; p->at++) {
        uint8_t c = *p->at;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            continue;
        if (c != '/' || p->end - p->at < 2 || p->at[1] != '/')
            return;
        const uint8_t *line_end = memchr(p->at, '\n', (size_t)(p->end - p->at));
        if (!line_end) {
            p->at = p->end;
            return;
        }
        p->at = line_end;
    }
}

bool rk_asm_accept_text(rk_asm *p, const char *text) {
    size_t len = strlen(text);
    (void)rk_asm_peek(p);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0)
        return false;
    p->at += len;
    return true;
}

bool rk_asm_expect_text(rk_asm *p, const char *text) {
    if (rk_asm_accept_text(p, text))
        return true;
    rk_asm_fail(p, "unexpected text");
    return false;
}

rk_span rk_asm_word(rk_asm *p) {
    const uint8_t *start;
    if (!rk_asm_is_word_start(rk_asm_peek(p)))
        return (rk_span){0};
    start = p->at++;
    while (p->at < p->end && rk_asm_is_word(*p->at))
        p->at++;
    return rk_span_of(start, (size_t)(p->at - start));
}

bool rk_asm_accept_word(rk_asm *p, const char *word) {
    (void)rk_asm_peek(p);
    const uint8_t *before = p->at;
    if (rk_span_is(rk_asm_word(p), word))
        return true;
    p->at = before;
    return false;
}

bool rk_asm_expect_word(rk_asm *p, const char *word) {
    if (rk_asm_accept_word(p, word))
        return true;
    rk_asm_fail(p, "unexpected text");
    return false;
}

static int hex_digit(uint8_t c) {
    if (rk_asm_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Decodes the escapes of a string: \" \\ \n \t, and two hexadecimal digits.
static bool unescape(rk_asm *p, rk_span raw, rk_span *out_text) {
    rk_buf_clear(&p->ints);
    for (size_t i = 0; i < raw.len; i++) {
        uint8_t c = raw.data[i];
        if (c != '\\') {
            rk_buf_add_byte(&p->ints, c);
            continue;
        }
        c = ++i < raw.len ? raw.data[i] : 0;
        int high = hex_digit(c), low = i + 1 < raw.len ? hex_digit(raw.data[i + 1]) : -1;
        if (c == '"' || c == '\\') {
            rk_buf_add_byte(&p->ints, c);
        } else if (c == 'n' || c == 't') {
            rk_buf_add_byte(&p->ints, c == 'n' ? '\n' : '\t');
        } else if (high >= 0 && low >= 0) {
            rk_buf_add_byte(&p->ints, (uint8_t)(high << 4 | low));
            i++;
        } else {
            rk_asm_fail(p, "an unknown escape in a string");
            return false;
        }
    }
    if (p->ints.failed)
        rk_asm_out_of_memory(p);
    *out_text = rk_model_keep(p->model, rk_buf_span(&p->ints));
    return !p->failed && !p->model->out_of_memory;
}

// Returns the quote that ends the string, or NULL. `*out_escaped`: the string has escapes.
static const uint8_t *find_quote(const uint8_t *at, const uint8_t *end, bool *out_escaped) {
    const uint8_t *start = at;
    *out_escaped = false;
    while ((at = at < end ? memchr(at, '"', (size_t)(end - at)) : NULL)) {
        size_t slashes = 0;
        while (at - slashes > start && at[-(ptrdiff_t)slashes - 1] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            break;
        at++;
    }
    if (at)
        *out_escaped = memchr(start, '\\', (size_t)(at - start)) != NULL;
    return at;
}

bool rk_asm_string(rk_asm *p, rk_span *out_text) {
    bool is_escaped;
    *out_text = (rk_span){0};
    if (!rk_asm_expect(p, '"'))
        return false;
    const uint8_t *start = p->at, *quote = find_quote(p->at, p->end, &is_escaped);
    if (!quote || memchr(start, '\n', (size_t)(quote - start))) {
        rk_asm_fail(p, "a string without an end");
        return false;
    }
    p->at = quote + 1;
    *out_text = rk_span_of(start, (size_t)(quote - start));
    return !is_escaped || unescape(p, *out_text, out_text);
}

bool rk_asm_symbol(rk_asm *p, rk_span *out_name) {
    *out_name = (rk_span){0};
    if (!rk_asm_expect(p, '@'))
        return false;
    if (rk_asm_here(p) == '"')
        return rk_asm_string(p, out_name);
    if (!rk_asm_is_word_start(rk_asm_here(p))) {
        rk_asm_fail(p, "a symbol without a name");
        return false;
    }
    *out_name = rk_asm_word(p);
    return true;
}

bool rk_asm_skip_bracket(rk_asm *p, char open, char close) {
    size_t depth = 1;
    bool is_escaped;
    for (; p->at < p->end; p->at++) {
        uint8_t c = *p->at;
        if (c == '"') {
            const uint8_t *quote = find_quote(p->at + 1, p->end, &is_escaped);
            if (!quote || memchr(p->at, '\n', (size_t)(quote - p->at)))
                break;
            p->at = quote;
        } else if (c == '/') {
            rk_asm_skip_blanks(p); // a comment
            if (p->at == p->end)
                break;
            p->at -= *p->at != '/';
        } else if (c == (uint8_t)open) {
            depth++;
        } else if (c == (uint8_t)close && --depth == 0) {
            p->at++;
            return true;
        }
    }
    rk_asm_fail(p, "a bracket without an end");
    return false;
}
