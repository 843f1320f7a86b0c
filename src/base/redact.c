#include "base/redact.h"

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

// Returns the position of `word` (lower case) in `name`, ignoring case; name.len if not found.
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

// Short names of secrets count only as the last part of a name: --pat and --github-pat, but not
// --pattern. "PASS" counts only in capitals, because compiler messages mention passes.
static bool ends_in_secret(rk_span name) {
    static const char *const last[] = {"pat", "sig", "sas", "pw", "passin", "passout", "passcode"};
    size_t start = name.len;
    while (start > 0 && is_letter(name.data[start - 1]))
        start--;
    rk_span part = from(name, start);
    for (size_t i = 0; i < RK_ARRAY_LEN(last); i++)
        if (part.len == strlen(last[i]) && find_word(part, last[i]) == 0)
            return true;
    return part.len == 4 && memcmp(part.data, "PASS", 4) == 0;
}

// True for the name of a secret. "token" counts only at the end of a word: --max_tokens and
// --tokenizer are not secrets.
static bool names_secret(rk_span name) {
    static const char *const anywhere[] = {"passw",         "passphrase", "pwd",    "secret",
                                           "key",           "credential", "bearer", "cookie",
                                           "authorization", "signature"};
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
    if (ends_in_secret(name))
        return true;
    size_t auth = find_word(name, "auth");
    return auth < name.len && (auth + 4 == name.len || !is_letter(name.data[auth + 4]));
}

// Returns the length of a token with a known prefix at the front of `text`, else 0.
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

// `text` follows "://". Returns the length of "user:password" before its '@', 0 if there is no
// login. A password may contain a '/' that was not encoded. So if a ':' precedes the first '/', the
// login extends to the last '@'.
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

// `text` begins with the name of a secret, of `name_len` bytes. If an assignment follows, returns
// the position of its value, else 0. `*out_quote` is the quote around the value, or 0.
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

// `text` begins with a word. If the word is a token or the name of a secret, appends its redacted
// form and returns how many bytes of `text` that form covers. Else returns 0.
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
    // "sh -c 'cmd --password X'": an option within an argument; its value is the next word.
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

// Programs with short password options.
typedef struct client {
    const char *names; // each between blanks
    char option;
    bool attached; // "-pX" is a password
    bool separate; // "-p X" is a password
    bool at_login; // only after the word "login"
} client;

static const client clients[] = {
    {" mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump mariadb-admin ", 'p', true,
     false, false},
    {" sshpass mongo mongosh mongodump mongorestore rabbitmqadmin twine ", 'p', true, true, false},
    {" docker podman nerdctl buildah skopeo helm oras crane az huggingface-cli ", 'p', true, true,
     true},
    {" redis-cli valkey-cli ", 'a', true, true, false},
    {" sqlcmd bcp zip unzip mosquitto_pub mosquitto_sub ", 'P', true, true, false},
    {" ldapsearch ldapmodify ldapadd ", 'w', true, true, false},
    {" 7z 7za 7zz ", 'p', true, false, false},
};
enum { LOGIN_SEEN = 1 << 30, CURL_SEEN = 1 << 29 };

static bool is_listed(const char *names, rk_span word) {
    for (const char *at = names; (at = strchr(at, ' ')) && at[1]; at++)
        if (strcspn(at + 1, " ") == word.len && memcmp(at + 1, word.data, word.len) == 0)
            return true;
    return false;
}

static void note_client(rk_redactor *redactor, rk_span word) {
    for (size_t i = word.len; i > 0; i--)
        if (is_one_of(word.data[i - 1], "/'\"(;|&`")) {
            word = from(word, i);
            break;
        }
    for (size_t i = 0; i < RK_ARRAY_LEN(clients); i++)
        if (is_listed(clients[i].names, word))
            redactor->clients |= 1U << i;
    if (is_listed(" curl wget ", word))
        redactor->clients |= CURL_SEEN;
    if (is_listed(" login ", word))
        redactor->clients |= LOGIN_SEEN;
}

// Returns how many bytes of the word "-pX" are not the password, 0 if the word is not the password
// option of a client named before. After "-p" alone, the next word is the password.
static size_t match_short_option(rk_redactor *redactor, rk_span word) {
    if (word.len < 2 || word.data[0] != '-')
        return 0;
    for (size_t i = 0; i < RK_ARRAY_LEN(clients); i++) {
        const client *known = &clients[i];
        if (!(redactor->clients & 1U << i) || word.data[1] != (uint8_t)known->option ||
            (known->at_login && !(redactor->clients & LOGIN_SEEN)))
            continue;
        if (word.len == 2)
            redactor->next_is_password = known->separate;
        else if (known->attached)
            return 2;
    }
    return 0;
}

// Returns the length of "user:" in "user:password", else 0. "1000:1000" is a user and a group.
static size_t match_login(rk_span word) {
    size_t colon = 0, digits = 0;
    while (colon < word.len && word.data[colon] != ':')
        colon++;
    for (size_t i = 0; i < word.len; i++)
        digits += word.data[i] >= '0' && word.data[i] <= '9';
    return colon + 1 < word.len && digits + 1 < word.len ? colon + 1 : 0;
}

static bool is_login_option(rk_span word) {
    return rk_span_is(word, "-u") || rk_span_is(word, "-U") || rk_span_is(word, "--user") ||
           rk_span_is(word, "--proxy-user");
}

// Returns how many bytes at the start of this word of a command line may be shown.
static size_t shown_of_word(rk_redactor *redactor, rk_span word) {
    bool login = redactor->next_is_login, password = redactor->next_is_password;
    redactor->next_is_login = is_login_option(word);
    redactor->next_is_password = false;
    if (password)
        return 0;
    size_t shown = login ? match_login(word) : 0;
    if (!shown)
        shown = match_short_option(redactor, word);
    static const char *const joined[] = {"--user=", "--proxy-user=", "-u"};
    for (size_t i = 0; i < RK_ARRAY_LEN(joined) && !shown; i++) {
        size_t len = strlen(joined[i]);
        bool applies = joined[i][1] == '-' || redactor->clients & CURL_SEEN;
        if (applies && word.len > len && memcmp(word.data, joined[i], len) == 0)
            shown = match_login(from(word, len)) ? len + match_login(from(word, len)) : 0;
    }
    note_client(redactor, word);
    return shown ? shown : word.len;
}

// An argument may be one word or a whole command line: "sh -c 'mysql -pX'".
static void redact_words(rk_redactor *redactor, rk_span argument, rk_buf *out) {
    while (argument.len) {
        size_t len = word_len(argument);
        size_t shown = len ? shown_of_word(redactor, rk_span_of(argument.data, len)) : 0;
        rk_buf_add(out, argument.data, shown);
        if (shown < len)
            rk_buf_add_text(out, stars);
        if (len < argument.len)
            rk_buf_add_byte(out, argument.data[len++]);
        argument = from(argument, len);
    }
}

static void redact_in_argument(rk_redactor *redactor, rk_span argument, rk_buf *out) {
    RK_AUTO(rk_buf) words = {0};
    redact_words(redactor, argument, &words);
    rk_err *err = rk_buf_status(&words);
    if (err) { // no memory: shows nothing
        rk_err_drop(err, "text that cannot be checked is hidden");
        rk_buf_add_text(out, stars);
    } else {
        rk_redact_text(rk_buf_span(&words), out);
    }
}

// True for --keys, --num-keys, --n_keys: the plural is mostly a setting. --api-keys is not, and
// neither is any other word.
static bool names_several_keys(rk_span name) {
    static const char *const names[] = {"keys", "num-keys", "num_keys", "n-keys", "n_keys"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

// True for a value that is too simple for a secret key: "both", "16".
static bool is_plain_value(rk_span value) {
    enum { LETTERS_MAX = 6, DIGITS_MAX = 4 };
    size_t letters = 0, digits = 0;
    for (size_t i = 0; i < value.len; i++) {
        letters += value.data[i] >= 'a' && value.data[i] <= 'z';
        digits += value.data[i] >= '0' && value.data[i] <= '9';
    }
    return value.len && ((letters == value.len && letters <= LETTERS_MAX) ||
                         (digits == value.len && digits <= DIGITS_MAX));
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
    bool is_keys =
        is_option && names_several_keys(rk_span_of(argument.data + dashes, name_end - dashes));
    bool is_plain = redactor->next_may_be_word && is_plain_value(argument);

    if (redactor->next_is_secret && !is_plain) {
        rk_buf_add_text(out, stars);
    } else if (is_assignment && is_keys && is_plain_value(from(argument, name_end + 1))) {
        rk_buf_add_span(out, argument);
    } else if (is_assignment && is_secret) { // hides the whole rest: a secret may contain any byte
        rk_buf_add(out, argument.data, name_end + 1);
        rk_buf_add_text(out, stars);
    } else {
        redact_in_argument(redactor, argument, out);
    }
    redactor->next_is_secret = value_expected;
    redactor->next_may_be_word = value_expected && is_keys;
}
