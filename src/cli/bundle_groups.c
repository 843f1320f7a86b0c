#include "cli/bundle_groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/fail.h"
#include "cli/table.h"

static const char autotune[] = "autotune"; // the module

void rk_bundle_groups_cleanup(rk_bundle_groups *groups) {
    for (size_t i = 0; i < groups->count; i++) {
        rk_free(groups->items[i].id);
        rk_bundle_verdict_cleanup(&groups->items[i].verdict);
    }
    rk_free(groups->items);
    *groups = (rk_bundle_groups){0};
}

static bool find(const rk_bundle_groups *groups, const char *id, size_t *out_index) {
    for (size_t i = 0; i < groups->count; i++) {
        *out_index = i;
        if (strcmp(groups->items[i].id, id) == 0)
            return true;
    }
    return false;
}

// Writes the name of a group. It begins with the digits of the environment.
static void add_id(rk_buf *id, rk_span environment, bool is_autotune, rk_span name_space) {
    rk_buf_add_span(id, environment);
    rk_buf_add_text(id, is_autotune ? " autotune " : "  ");
    rk_buf_add_span(id, name_space);
}

rk_err *rk_bundle_groups_of_entry(rk_bundle_groups *groups, const rk_entry *entry,
                                  size_t *out_index) {
    RK_AUTO(rk_buf) id = RK_BUF_INIT(0);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    json_t *metadata = rk_out_parsed(entry->metadata);
    const char *name_space = json_string_value(json_object_get(metadata, "namespace"));
    const char *module = json_string_value(json_object_get(metadata, "pack"));
    rk_digest_to_hex(&entry->key.environment, hex);
    add_id(&id, rk_span_text(hex), module && strcmp(module, autotune) == 0,
           rk_span_text(name_space ? name_space : ""));
    json_decref(metadata);
    if (find(groups, rk_need_text(&id), out_index))
        return NULL;
    rk_bundle_group group = {0};
    RK_TRY(rk_machine_judge(groups->machine, groups->head, entry, &group.verdict));
    group.id = rk_need(rk_strdup(rk_need_text(&id)));
    groups->items = rk_need(rk_realloc(groups->items, (groups->count + 1) * sizeof *groups->items));
    *out_index = groups->count;
    groups->items[groups->count++] = group;
    return NULL;
}

rk_err *rk_bundle_groups_of_item(rk_bundle_groups *groups, const rk_bundle *bundle,
                                 const rk_bundle_module *module, const rk_bundle_item *item,
                                 const rk_bundle_part *part, size_t *out_index) {
    RK_AUTO(rk_buf) id = RK_BUF_INIT(0);
    rk_span environment, name_space;
    if (rk_bundle_attribute_find(item->attributes, "environment", &environment) &&
        rk_bundle_attribute_find(item->attributes, "namespace", &name_space)) {
        add_id(&id, environment, part->kind == RK_PART_PACK && rk_span_is(module->name, autotune),
               name_space);
        if (find(groups, rk_need_text(&id), out_index))
            return NULL;
    }
    __attribute__((cleanup(rk_bundle_entry_cleanup))) rk_bundle_entry entry = {0};
    RK_TRY(rk_bundle_part_peek_entry(bundle, item, part, &entry));
    return rk_bundle_groups_of_entry(groups, &entry.view.entry, out_index);
}

rk_err *rk_bundle_groups_check_python(const rk_bundle_groups *groups) {
    const rk_bundle_verdict *lacking = NULL;
    for (size_t i = 0; i < groups->count; i++) {
        const rk_bundle_verdict *verdict = &groups->items[i].verdict;
        if (verdict->is_pack && !verdict->lacks_framework)
            return NULL;
        lacking = verdict->lacks_framework ? verdict : lacking;
    }
    return lacking ? rk_error(RK_NOT_FOUND, "%s", lacking->why) : NULL;
}

// The first group of the environment, which may be empty: of any. Prefers one that is not blocked.
static const rk_bundle_group *first_of(const rk_bundle_groups *groups, rk_span environment) {
    const rk_bundle_group *best = NULL;
    for (size_t i = 0; i < groups->count; i++) {
        const rk_bundle_group *one = &groups->items[i];
        if (environment.len &&
            !rk_span_equal(environment, rk_span_of(one->id, RK_DIGEST_HEX_CHARS)))
            continue;
        if (!best || (best->verdict.use == RK_USE_NO && one->verdict.use != RK_USE_NO))
            best = one;
    }
    return best;
}

const rk_bundle_group *rk_bundle_groups_main(const rk_bundle_groups *groups) {
    const rk_bundle_group *found = NULL;
    for (size_t i = 0; i < groups->head->made_with.count && !found; i++) {
        const rk_bundle_pair *pair = &groups->head->made_with.items[i];
        if (rk_span_is(pair->name, "environment"))
            found = first_of(groups, pair->value);
    }
    return found ? found : first_of(groups, (rk_span){0});
}

// One side of a mismatch, in one line.
static void add_side(rk_table *table, const json_t *value) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    const char *text = json_string_value(value);
    for (; text && *text; text++)
        if (*text != '\n')
            rk_buf_add_byte(&line, (uint8_t)*text);
        else if (text[1])
            rk_buf_add_text(&line, "; ");
    rk_table_add(table, RK_STYLE_NONE, line.len ? rk_need_text(&line) : "-");
}

char *rk_bundle_mismatches_text(const json_t *mismatches) {
    static const rk_table_column columns[] = {{.title = "  DIFFERS", .least = 20, .wrap = true},
                                              {.title = "BUNDLE", .least = 16, .wrap = true},
                                              {.title = "HERE", .least = 16, .wrap = true},
                                              {.title = ""}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    char *text = NULL;
    size_t len = 0, index;
    json_t *one;
    json_array_foreach(mismatches, index, one) {
        RK_AUTO(rk_buf) what = RK_BUF_INIT(0);
        rk_buf_add_format(&what, "  %s", json_string_value(json_object_get(one, "what")));
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&what));
        add_side(&table, json_object_get(one, "bundle"));
        add_side(&table, json_object_get(one, "here"));
        rk_table_add(&table, RK_STYLE_NOTICE,
                     json_is_true(json_object_get(one, "blocks")) ? "blocks" : "warning");
    }
    FILE *out = rk_need(open_memstream(&text, &len));
    rk_table_print(&table, rk_term_columns(stderr), out);
    (void)fclose(out);
    return rk_need(text);
}
