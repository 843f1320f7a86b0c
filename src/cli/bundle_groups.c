#include "cli/bundle_groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/fail.h"
#include "cli/table.h"

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

rk_err *rk_bundle_groups_of_entry(rk_bundle_groups *groups, const rk_entry *entry,
                                  size_t *out_index) {
    RK_AUTO(rk_buf) id = RK_BUF_INIT(0);
    json_t *metadata = rk_out_parsed(entry->metadata);
    const char *name_space = json_string_value(json_object_get(metadata, "namespace"));
    rk_buf_add_hex(&id, rk_digest_span(&entry->key.environment));
    rk_buf_add_format(&id, " %s", name_space ? name_space : "");
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
                                 const rk_bundle_item *item, const rk_bundle_part *part,
                                 size_t *out_index) {
    RK_AUTO(rk_buf) id = RK_BUF_INIT(0);
    rk_span environment, name_space;
    if (rk_bundle_attribute_find(item->attributes, "environment", &environment) &&
        rk_bundle_attribute_find(item->attributes, "namespace", &name_space)) {
        rk_buf_add_span(&id, environment);
        rk_buf_add_byte(&id, ' ');
        rk_buf_add_span(&id, name_space);
        if (find(groups, rk_need_text(&id), out_index))
            return NULL;
    }
    __attribute__((cleanup(rk_bundle_entry_cleanup))) rk_bundle_entry entry = {0};
    RK_TRY(rk_bundle_part_peek_entry(bundle, item, part, &entry));
    return rk_bundle_groups_of_entry(groups, &entry.view.entry, out_index);
}

const rk_bundle_group *rk_bundle_groups_main(const rk_bundle_groups *groups) {
    for (size_t i = 0; i < groups->head->made_with.count; i++) {
        const rk_bundle_pair *pair = &groups->head->made_with.items[i];
        if (!rk_span_is(pair->name, "environment"))
            continue;
        for (size_t k = 0; k < groups->count; k++) {
            const char *id = groups->items[k].id;
            if (rk_span_equal(pair->value, rk_span_of(id, RK_DIGEST_HEX_CHARS)))
                return &groups->items[k];
        }
    }
    return groups->count ? &groups->items[0] : NULL;
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
