#include "journal/redact.h"

static const char stars[] = "***";

static uint8_t lower(uint8_t c) {
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

static bool is_letter(uint8_t c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_word(uint8_t c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static bool is_one_of(uint8_t c, const char *set) {
    return c && strchr(set, c);
}

static rk_span from(rk_span text, size_t start) {
    return rk_span_of(text.data + start, text.len - start);
}

// Where `word` (lower case) begins in `name`, whatever its case; name.len if nowhere.
static size_t find_word(rk_span name, const char *word) {
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= name.len; at++) {
        size_t same = 0;
        while (same < len && lower(name.data[at + same]) == (uint8_t)word[same])
            same++;
        if (same == len)
            return at;
    }
    return name.len;
}

// Names of secrets. "token" only at the end of a word: --max_tokens and --tokenizer are none.
static bool names_secret(rk_span name) {
    static const char *const anywhere[] = {"passw",  "pwd",           "secret",
                                           "key",    "credential",    "bearer",
                                           "cookie", "authorization", "signature"};
    for (size_t i = 0; i < RK_ARRAY_LEN(anywhere); i++)
        if (find_word(name, anywhere[i]) < name.len)
            return true;
    static const char token[] = "token";
    for (rk_span rest = name; rest.len;) {
        size_t end = find_word(rest, token);
        if (end == rest.len)
            break;
        end += sizeof token - 1;
        if (end == rest.len || !is_letter(rest.data[end]))
            return true;
        rest = from(rest, end);
    }
    size_t auth = find_word(name, "auth");
    return auth < name.len && (auth + 4 == name.len || !is_letter(name.data[auth + 4]));
}

// The length of a word that is known to be a token by how it begins, at the front of `text`.
static size_t match_token(rk_span text) {
    static const char *const beginnings[] = {"hf_",         "sk-",    "ghp_",  "gho_",  "ghs_",
                                             "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA",
                                             "ASIA",        "AIza",   "ya29.", "eyJ"};
    enum { SHORTEST_TOKEN = 16 };
    for (size_t i = 0; i < RK_ARRAY_LEN(beginnings); i++) {
        size_t len = strlen(beginnings[i]);
        if (text.len < len || memcmp(text.data, beginnings[i], len) != 0)
            continue;
        size_t start = len;
        while (len < text.len && is_word(text.data[len]))
            len++;
        if (len - start >= SHORTEST_TOKEN)
            return len;
    }
    return 0;
}

// Behind "://": the length of "user:password" up to, not with, its '@'. A password may hold a '/'
// that nobody encoded, so everything to the last '@' goes where there is a ':' before the first
// '/'.
static size_t match_user(rk_span text) {
    size_t end = 0, at_sign = 0;
    bool has_at = false, has_slash = false, has_colon = false;
    for (; end < text.len && !is_one_of(text.data[end], " \t\n\"'"); end++) {
        uint8_t c = text.data[end];
        if (c == '@' && (!has_slash || has_colon)) {
            has_at = true;
            at_sign = end;
        } else if (is_one_of(c, "/?#") && !has_slash) {
            has_slash = true;
        } else if (c == ':' && !has_slash) {
            has_colon = true;
        }
    }
    return has_at ? at_sign : 0;
}

// An assignment at the front of `text`, where `name_len` bytes are a secret's name: the length up
// to where its value begins, 0 if there is none. `*out_quote` is the quote around the value, or 0.
static size_t match_assignment(rk_span text, size_t name_len, uint8_t *out_quote) {
    size_t at = name_len;
    while (at < text.len && is_one_of(text.data[at], "\"'] "))
        at++;
    if (at == text.len || !is_one_of(text.data[at], "=:"))
        return 0;
    at++;
    while (at < text.len && text.data[at] == ' ')
        at++;
    *out_quote = at < text.len && is_one_of(text.data[at], "\"'") ? text.data[at] : 0;
    return *out_quote ? at + 1 : at;
}

static size_t value_len(rk_span text, uint8_t quote) {
    size_t len = 0;
    while (len < text.len && text.data[len] != quote &&
           (quote || !is_one_of(text.data[len], "&\n\"'")))
        len++;
    return len;
}

static size_t word_len(rk_span text) {
    size_t len = 0;
    while (len < text.len && !is_one_of(text.data[len], " \t\n"))
        len++;
    return len;
}

// At the beginning of a word: appends what stands there if it hides something; its length, else 0.
static size_t redact_word(rk_span text, rk_buf *out) {
    size_t token = match_token(text);
    if (token) {
        rk_buf_add_text(out, stars);
        return token;
    }
    size_t name_len = 0;
    while (name_len < text.len && is_word(text.data[name_len]))
        name_len++;
    if (!name_len || !names_secret(rk_span_of(text.data, name_len)))
        return 0;
    uint8_t quote = 0;
    size_t start = match_assignment(text, name_len, &quote);
    // "sh -c 'cmd --password X'": an option within an argument, its value the next word.
    bool is_option =
        !start && text.data[0] == '-' && name_len < text.len && text.data[name_len] == ' ';
    if (is_option)
        start = name_len + 1;
    rk_buf_add(out, text.data, start ? start : name_len);
    if (!start)
        return name_len;
    size_t hidden = is_option ? word_len(from(text, start)) : value_len(from(text, start), quote);
    if (hidden)
        rk_buf_add_text(out, stars);
    return start + hidden;
}

void rk_redact_text(rk_span text, rk_buf *out) {
    static const char scheme_end[] = "://";
    size_t at = 0;
    while (at < text.len) {
        rk_span rest = from(text, at);
        size_t taken = at && is_word(text.data[at - 1]) ? 0 : redact_word(rest, out);
        if (!taken && rest.len >= 3 && memcmp(rest.data, scheme_end, 3) == 0) {
            rk_buf_add_text(out, scheme_end);
            taken = 3;
            size_t user = match_user(from(rest, 3));
            if (user) {
                rk_buf_add_text(out, stars);
                taken += user;
            }
        }
        if (!taken) {
            rk_buf_add_byte(out, text.data[at]);
            taken = 1;
        }
        at += taken;
    }
}

void rk_redact_argument(rk_redactor *redactor, rk_span argument, rk_buf *out) {
    size_t dashes = 0;
    while (dashes < argument.len && argument.data[dashes] == '-')
        dashes++;
    size_t name_end = dashes;
    while (name_end < argument.len && is_word(argument.data[name_end]))
        name_end++;
    bool is_option = dashes > 0 && name_end > dashes;
    bool is_assignment = name_end < argument.len && argument.data[name_end] == '=';
    bool is_secret = names_secret(rk_span_of(argument.data + dashes, name_end - dashes));
    bool value_expected = is_option && is_secret && name_end == argument.len;

    if (redactor->next_is_secret) {
        rk_buf_add_text(out, stars);
    } else if (is_assignment && is_secret) { // the whole rest: it may hold any byte
        rk_buf_add(out, argument.data, name_end + 1);
        rk_buf_add_text(out, stars);
    } else {
        rk_redact_text(argument, out);
    }
    redactor->next_is_secret = value_expected;
}
