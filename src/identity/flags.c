#include "identity/flags.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "identity/options_schema.h"

enum {
    MAX_FLAGS_BYTES = 1 << 20,
    MAX_FLAG_BYTES = 64 << 10,
};

// Dropped flags, in addition to the DebugOptions fields that the schema drops. JAX's own cache key
// leaves out the first four (jax/_src/cache_key.py). The others are logging flags of absl and glog,
// which libtpu accepts.
static const char *const DROPPED[] = {
    "xla_tpu_sdc_checker_streamz_metric",
    "xla_tpu_sdc_checker_enable_sdc_event_callbacks",
    "xla_tpu_sdc_checker_enable_coresweep_ng_callbacks",
    "xla_tpu_sdc_checker_no_logging_if_callbacks_are_present",
    "v",
    "vmodule",
    "minloglevel",
    "stderrthreshold",
    "logtostderr",
    "alsologtostderr",
    "log_dir",
    "max_log_size",
};

static bool is_dropped(rk_span name) {
    for (size_t i = 0; i < RK_ARRAY_LEN(DROPPED); i++)
        if (rk_span_is(name, DROPPED[i]))
            return true;
    return rk_schema_drops_flag(name);
}

static bool is_blank(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip(rk_span *text, size_t len) {
    text->data += len;
    text->len -= len;
}

static void skip_blanks(rk_span *text) {
    while (text->len && is_blank(text->data[0]))
        skip(text, 1);
}

// Takes a word, which ends at a blank. A quote counts only right after the first "=", as in XLA
// (xla/parse_flags_from_env.cc). A backslash escapes within double quotes.
static void take_word(rk_span *text, rk_buf *out) {
    while (text->len && !is_blank(text->data[0])) {
        uint8_t c = text->data[0];
        bool opens = (c == '"' || c == '\'') && out->len && out->data[out->len - 1] == '=' &&
                     !memchr(out->data, '=', out->len - 1);
        skip(text, 1);
        if (!opens) {
            rk_buf_add_byte(out, c);
            continue;
        }
        while (text->len && text->data[0] != c) {
            if (c == '"' && text->data[0] == '\\' && text->len > 1)
                skip(text, 1);
            rk_buf_add_byte(out, text->data[0]);
            skip(text, 1);
        }
        if (text->len)
            skip(text, 1);
        return; // as in XLA, a new word begins after the closing quote
    }
}

typedef struct flag {
    rk_buf name; // without dashes; empty for words before the first flag
    rk_buf value;
} flag;

static void flag_cleanup(flag *f) {
    rk_buf_cleanup(&f->name);
    rk_buf_cleanup(&f->value);
}

static rk_component *find(rk_components *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

// Adds the value of a repeated flag to the flag's component.
static rk_err *append_value(rk_component *item, rk_span value) {
    static const char BETWEEN[] = ", then ";
    size_t len = sizeof BETWEEN - 1;
    rk_span before = rk_span_of(item->value, item->value_len);
    if (rk_span_equal(before, value))
        return NULL;
    // "a, then b" followed by b again is still "a, then b".
    if (before.len > value.len + len &&
        rk_span_equal(rk_span_of(before.data + before.len - value.len, value.len), value) &&
        memcmp(before.data + before.len - value.len - len, BETWEEN, len) == 0)
        return NULL;
    RK_AUTO(rk_buf) joined = RK_BUF_INIT(MAX_FLAG_BYTES);
    rk_buf_add_span(&joined, before);
    rk_buf_add_text(&joined, BETWEEN);
    rk_buf_add_span(&joined, value);
    RK_TRY(rk_buf_status(&joined));
    rk_free(item->value);
    item->value = (char *)rk_buf_detach(&joined, &item->value_len);
    return NULL;
}

static rk_err *add_flag(const char *variable, const flag *f, rk_components *out) {
    RK_TRY(rk_buf_status(&f->name));
    RK_TRY(rk_buf_status(&f->value));
    if (is_dropped(rk_buf_span(&f->name)))
        return NULL;
    RK_AUTO(rk_buf) name = RK_BUF_INIT(MAX_FLAG_BYTES);
    rk_buf_add_format(&name, "%s:--%s", variable, rk_buf_text(&f->name));
    RK_TRY(rk_buf_status(&name));
    rk_span value = f->value.len ? rk_buf_span(&f->value) : rk_span_text("");
    rk_component *earlier = find(out, rk_buf_text(&name));
    if (earlier)
        return append_value(earlier, value);
    return rk_components_add(out, RK_COMPONENT_FLAG, rk_buf_text(&name), value);
}

// Splits "--name=value". A word that is not a flag is added to the value of the flag before it.
static void read_word(rk_span word, flag *f, bool *out_has_value) {
    if (!word.len || word.data[0] != '-') {
        if (*out_has_value)
            rk_buf_add_byte(&f->value, ' ');
        rk_buf_add_span(&f->value, word);
        *out_has_value = true;
        return;
    }
    while (word.len && word.data[0] == '-')
        skip(&word, 1);
    const uint8_t *equals = word.len ? memchr(word.data, '=', word.len) : NULL;
    size_t name_len = equals ? (size_t)(equals - word.data) : word.len;
    rk_buf_clear(&f->name);
    rk_buf_clear(&f->value);
    rk_buf_add(&f->name, word.data, name_len);
    *out_has_value = equals != NULL;
    if (equals)
        rk_buf_add(&f->value, equals + 1, word.len - name_len - 1);
}

rk_err *rk_flags_add(const char *variable, rk_span text, rk_components *out) {
    __attribute__((cleanup(flag_cleanup)))
    flag f = {RK_BUF_INIT(MAX_FLAG_BYTES), RK_BUF_INIT(MAX_FLAG_BYTES)};
    RK_AUTO(rk_buf) word = RK_BUF_INIT(MAX_FLAG_BYTES);
    bool pending = false, has_value = false;
    for (skip_blanks(&text); text.len; skip_blanks(&text)) {
        bool is_flag = text.data[0] == '-';
        rk_buf_clear(&word);
        take_word(&text, &word);
        RK_TRY(rk_buf_status(&word));
        if (is_flag && pending) {
            if (!has_value)
                rk_buf_add_text(&f.value, "true");
            RK_TRY(add_flag(variable, &f, out));
        }
        read_word(rk_buf_span(&word), &f, &has_value);
        pending = true;
    }
    if (!pending)
        return NULL;
    if (!has_value)
        rk_buf_add_text(&f.value, "true");
    return add_flag(variable, &f, out);
}

// Follows symbolic links, as XLA does; rk_fs_read does not.
static rk_err *read_file(const char *path, rk_buf *out) {
    uint8_t chunk[4096];
    rk_autofd fd = rk_sys()->open_fn(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open the flags file %s", path);
    for (;;) {
        ssize_t got = rk_sys()->read_fn(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read the flags file %s", path);
        if (got == 0)
            return rk_buf_status(out);
        rk_buf_add(out, chunk, (size_t)got);
        RK_TRY(rk_buf_status(out));
    }
}

rk_err *rk_flags_add_variable(const char *variable, const char *value, rk_components *out) {
    if (!value || !*value)
        return NULL;
    if (value[strspn(value, " \t\r\n")] == '-')
        return rk_flags_add(variable, rk_span_text(value), out);
    RK_AUTO(rk_buf) content = RK_BUF_INIT(MAX_FLAGS_BYTES);
    rk_err *err = read_file(value, &content);
    if (!err)
        return rk_flags_add(variable, rk_buf_span(&content), out);
    // XLA will report the unreadable file, or the value is not a file name. Use the value itself.
    rk_err_drop(err, "the value itself is part of the key");
    return rk_components_add(out, RK_COMPONENT_FLAG, variable, rk_span_text(value));
}
