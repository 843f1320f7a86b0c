#include "cli/component_view.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/term.h"
#include "cli/text.h"

// Some values are lines of text: "4 cpu\naddressable 4\n".
static char *join_lines(char *text) {
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    for (char *end = text; (end = strchr(end, '\n')) != NULL;)
        *end = ';';
    return text;
}

// The value as text. Of a long value, an entry holds only size and digest.
static char *component_value(const json_t *component) {
    const json_t *value = json_object_get(component, "value");
    const char *digest = json_string_value(json_object_get(value, "digest"));
    if (!digest)
        return value ? join_lines(rk_out_flat(value)) : rk_need(rk_strdup(""));
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "%" JSON_INTEGER_FORMAT " bytes, digest %.16s…",
                      json_integer_value(json_object_get(value, "bytes")), digest);
    return rk_need(rk_strdup(rk_need_text(&text)));
}

typedef struct component {
    const char *kind, *name; // borrowed from the JSON
    size_t path_len;         // length of the path in the name: of "a.b." in "a.b.c"
    char *value;             // owned
} component;

static int by_kind_path_name(const void *a, const void *b) {
    const component *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    if (order == 0)
        order = rk_span_compare(rk_span_of(x->name, x->path_len), rk_span_of(y->name, y->path_len));
    return order ? order : strcmp(x->name, y->name);
}

static component read_component(const json_t *json) {
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const char *name = json_string_value(json_object_get(json, "name"));
    component one = {
        .kind = kind ? kind : "?", .name = name ? name : "?", .value = component_value(json)};
    // Only names of options are paths into a message. Keys in brackets may contain dots.
    if (strcmp(one.kind, "option") == 0)
        for (size_t i = 0; one.name[i] && (i == 0 || one.name[i - 1] != '['); i++)
            if (one.name[i] == '.')
                one.path_len = i + 1;
    return one;
}

// Prints the title of a group: a kind, and for options the message that contains them.
static void print_group(const component *one, size_t columns, FILE *out) {
    RK_AUTO(rk_buf) title = RK_BUF_INIT(0);
    rk_buf_add_format(&title, "  %s%s%s", rk_style(RK_STYLE_DIM, stdout), one->kind,
                      one->path_len > 0 ? " in " : "");
    if (one->path_len > 0)
        rk_text_add_printable(&title, rk_span_of(one->name, one->path_len - 1));
    rk_buf_add_text(&title, rk_style(RK_STYLE_NONE, stdout));
    rk_term_wrap(rk_need_text(&title), 0, 4, columns, out);
}

static char *shown_name(const component *one) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    rk_buf_add_text(&name, "    ");
    rk_text_add_printable(&name, rk_span_text(one->name + one->path_len));
    return rk_need(rk_strdup(rk_need_text(&name)));
}

// Prints a name and its value. The value goes below a name that is wider than `width`: names are
// not broken, because people search for them.
static void print_component(const component *one, size_t width, size_t columns, FILE *out) {
    enum { GAP = 2, NAME_INDENT = 6 };
    rk_autofree char *name = shown_name(one);
    RK_AUTO(rk_buf) value = RK_BUF_INIT(0);
    size_t used = rk_text_width(name);
    rk_text_add_printable(&value, rk_span_text(one->value));
    if (value.len == 0 || used > width) {
        rk_term_wrap(name, 0, NAME_INDENT, columns, out);
        used = 0;
    } else {
        (void)fprintf(out, "%s", name);
    }
    if (value.len == 0)
        return;
    (void)fprintf(out, "%*s", (int)(width + GAP - used), "");
    rk_term_wrap(rk_need_text(&value), width + GAP, width + GAP, columns, out);
}

// The width of the names: of the widest that leaves space for values.
static size_t name_width(const component *items, size_t count, size_t columns) {
    enum { MOST = 50 };
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        rk_autofree char *name = shown_name(&items[i]);
        size_t width = rk_text_width(name);
        if (width > widest && (columns == 0 || width <= MOST))
            widest = width;
    }
    return widest;
}

static void print_sorted(const component *items, size_t count, FILE *out) {
    size_t columns = rk_term_columns(stdout), width = name_width(items, count, columns);
    for (size_t i = 0; i < count; i++) {
        const component *one = &items[i], *before = i > 0 ? &items[i - 1] : NULL;
        if (!before || strcmp(before->kind, one->kind) != 0 || before->path_len != one->path_len ||
            strncmp(before->name, one->name, one->path_len) != 0)
            print_group(one, columns, out);
        print_component(one, width, columns, out);
    }
}

static bool is_one_of(const char *kind, const char *kinds) {
    size_t len = strlen(kind);
    for (const char *at = kinds; at && (at = strstr(at, kind)) != NULL; at += len)
        if ((at == kinds || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return !kinds;
}

size_t rk_component_view_count(const json_t *list, const char *kinds) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *kind = json_string_value(json_object_get(json_array_get(list, i), "kind"));
        count += is_one_of(kind ? kind : "?", kinds);
    }
    return count;
}

void rk_component_view_print(const json_t *list, const char *kinds, FILE *out) {
    size_t count = json_array_size(list), chosen = 0;
    rk_autofree component *items = rk_need(rk_calloc(count + 1, sizeof *items));
    for (size_t i = 0; i < count; i++) {
        component one = read_component(json_array_get(list, i));
        if (is_one_of(one.kind, kinds))
            items[chosen++] = one;
        else
            rk_free(one.value);
    }
    qsort(items, chosen, sizeof *items, by_kind_path_name);
    print_sorted(items, chosen, out);
    for (size_t i = 0; i < chosen; i++)
        rk_free(items[i].value);
}
