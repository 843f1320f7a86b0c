#include "cli/gc_select.h"

#include <string.h>

#include "cli/out.h"
#include "cli/text.h"

rk_err *rk_select_age(const char *text, uint64_t *out_ns) {
    static const struct {
        char letter;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    const uint64_t most_seconds = UINT64_C(1000) * 366 * 86400;
    enum { MAX_DIGITS = 12 };
    *out_ns = UINT64_MAX;
    if (!text)
        return NULL;
    uint64_t number = 0;
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < digits && digits <= MAX_DIGITS; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; digits > 0 && digits <= MAX_DIGITS && i < sizeof units / sizeof *units;
         i++) {
        if (text[digits] != units[i].letter || text[digits + 1] ||
            number > most_seconds / units[i].seconds)
            continue;
        *out_ns = number * units[i].seconds * 1000000000u;
        return NULL;
    }
    return rk_error(RK_INVALID_ARGUMENT,
                    "--older-than takes a whole number and a unit (s, m, h, d, w), such as 12h or "
                    "30d, not '%s'",
                    text);
}

bool rk_select_namespace(const char *name, rk_span metadata, json_t *seen) {
    if (!name)
        return true;
    json_t *object = rk_out_parsed(metadata);
    const char *of = json_string_value(json_object_get(object, "namespace"));
    of = of && of[0] ? of : "-";
    bool belongs = strcmp(of, name) == 0;
    rk_out_set(seen, of, rk_out_bool(true));
    json_decref(object);
    return belongs;
}

void rk_select_add_unknown(const char *name, json_t *seen, rk_buf *out) {
    const char *other;
    json_t *value;
    size_t count = 0;
    rk_buf_add_text(out, "No entry has the namespace ");
    rk_text_add_printable(out, rk_span_text(name));
    json_object_foreach(seen, other, value) {
        rk_buf_add_text(out, count++ ? ", " : " (there are: ");
        rk_text_add_printable(out, rk_span_text(other));
    }
    rk_buf_add_text(out, count ? ")." : ".");
}
