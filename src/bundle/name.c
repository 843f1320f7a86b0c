#include "bundle/name_internal.h"

#include "base/utf8.h"
#include "bundle/limits.h"

// Control characters: below U+0020, and U+007F to U+009F.
static bool is_control(rk_span sequence) {
    const uint8_t *s = sequence.data;
    return s[0] < 0x20 || s[0] == 0x7F || (sequence.len == 2 && s[0] == 0xC2 && s[1] < 0xA0);
}

static const char *text_fault(rk_span text, bool may_have_controls) {
    while (text.len) {
        size_t len = rk_utf8_len(text);
        if (len == 0)
            return "is not UTF-8";
        if (text.data[0] == 0)
            return "contains NUL";
        if (!may_have_controls && is_control(rk_span_of(text.data, len)))
            return "contains a control character";
        text = rk_span_of(text.data + len, text.len - len);
    }
    return NULL;
}

static const char *component_fault(rk_span part) {
    if (part.len == 0)
        return "has an empty part";
    if (rk_span_is(part, ".") || rk_span_is(part, ".."))
        return "has a part \".\" or \"..\"";
    if (part.len > RK_BUNDLE_COMPONENT_MAX_BYTES)
        return "has a part of more than 255 bytes";
    return NULL;
}

const char *rk_bundle_name_fault(rk_span name) {
    if (name.len == 0)
        return "is empty";
    if (name.len > RK_BUNDLE_NAME_MAX_BYTES)
        return "has more than 4,096 bytes";
    if (name.data[0] == '/')
        return "is not relative";
    const char *fault = text_fault(name, false);
    if (!fault && memchr(name.data, '\\', name.len))
        fault = "contains a backslash";
    while (!fault) {
        const uint8_t *slash = name.len ? memchr(name.data, '/', name.len) : NULL;
        size_t len = slash ? (size_t)(slash - name.data) : name.len;
        fault = component_fault(rk_span_of(name.data, len));
        if (!slash)
            break;
        name = rk_span_of(slash + 1, name.len - len - 1);
    }
    return fault;
}

bool rk_bundle_module_name_is_valid(rk_span name) {
    if (name.len == 0 || name.len > RK_BUNDLE_MODULE_NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        bool is_letter = c >= 'a' && c <= 'z';
        if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || c == '_')))
            return false;
    }
    return true;
}

const char *rk_bundle_pair_fault(const rk_bundle_pair *pair) {
    if (pair->name.len == 0)
        return "has an empty name";
    const char *fault = text_fault(pair->name, false);
    return fault ? fault : text_fault(pair->value, true);
}

const char *rk_bundle_attribute_fault(const rk_bundle_pair *attribute) {
    size_t bytes = 0;
    if (__builtin_add_overflow(attribute->name.len, attribute->value.len, &bytes) ||
        bytes > RK_BUNDLE_ATTRIBUTE_MAX_BYTES)
        return "has more than 4,096 bytes";
    return rk_bundle_pair_fault(attribute);
}

static uint8_t folded(uint8_t c) {
    if (c >= 'A' && c <= 'Z')
        return (uint8_t)(c + ('a' - 'A'));
    return c == '/' ? 1 : c; // valid names have no control characters
}

// Length of the common beginning, after folding.
static size_t common(rk_span a, rk_span b) {
    size_t shorter = a.len < b.len ? a.len : b.len, i = 0;
    while (i < shorter) {
        uint64_t left, right;
        // Names share long beginnings: eight bytes at a time.
        while (i + sizeof left <= shorter) {
            memcpy(&left, a.data + i, sizeof left);
            memcpy(&right, b.data + i, sizeof right);
            if (left != right)
                break;
            i += sizeof left;
        }
        if (i == shorter || folded(a.data[i]) != folded(b.data[i]))
            break;
        i++;
    }
    return i;
}

int rk_bundle_name_compare(rk_span a, rk_span b) {
    size_t i = common(a, b);
    if (i < a.len && i < b.len)
        return folded(a.data[i]) < folded(b.data[i]) ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}

bool rk_bundle_name_contains(rk_span upper, rk_span lower) {
    return common(upper, lower) == upper.len &&
           (upper.len == lower.len || lower.data[upper.len] == '/');
}

rk_bundle_shown rk_bundle_show(rk_span name) {
    static const char more[] = "...";
    rk_bundle_shown shown;
    size_t at = 0;
    while (name.len) {
        size_t len = rk_utf8_len(name);
        bool is_bad = len == 0 || is_control(rk_span_of(name.data, len));
        len = len ? len : 1;
        if (at + len > sizeof shown.text - sizeof more) {
            memcpy(shown.text + at, more, sizeof more - 1);
            at += sizeof more - 1;
            break;
        }
        if (is_bad)
            shown.text[at++] = '?';
        else
            memcpy(shown.text + at, name.data, len);
        at += is_bad ? 0 : len;
        name = rk_span_of(name.data + len, name.len - len);
    }
    shown.text[at] = '\0';
    return shown;
}
