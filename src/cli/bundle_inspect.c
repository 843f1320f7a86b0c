#include "cli/bundle_inspect.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/bundle_groups.h"
#include "cli/bundle_keys.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/table.h"
#include "cli/text.h"

// One inspection. The result is built as JSON, and people get a view of it.
typedef struct inspection {
    const rk_bundle_inspect_request *request;
    const rk_bundle *bundle;
    rk_bundle_keys keys;
    rk_machine machine;
    rk_bundle_groups groups;
    json_t *entries; // owned
    json_t *packs;   // owned
    size_t used, unknown, unused;
} inspection;

static void inspection_cleanup(inspection *s) {
    rk_bundle_keys_cleanup(&s->keys);
    rk_bundle_groups_cleanup(&s->groups);
    rk_machine_cleanup(&s->machine);
    json_decref(s->entries);
    json_decref(s->packs);
}

static void set_attribute(json_t *object, const rk_bundle_item *item, const char *name,
                          const char *member, bool is_number) {
    rk_span value;
    char text[32];
    if (!rk_bundle_attribute_find(item->attributes, name, &value)) {
        rk_out_set(object, member, rk_out_string(NULL));
    } else if (!is_number) {
        rk_out_set(object, member, rk_out_text(value));
    } else {
        (void)snprintf(text, sizeof text, "%.*s", (int)value.len, (const char *)value.data);
        char *end = NULL;
        double number = strtod(text, &end);
        bool valid = *text && !*end && number >= 0 && number < 1e15;
        rk_out_set(object, member,
                   valid ? rk_out_seconds((uint64_t)(number * 1e9)) : rk_out_string(NULL));
    }
}

static void count_use(inspection *s, json_t *one, rk_bundle_use use, const char *why) {
    bool used = use == RK_USE_YES, known = use != RK_USE_NOT_KNOWN;
    s->used += used;
    s->unknown += !known;
    s->unused += known && !used;
    rk_out_set(one, "used", known ? rk_out_bool(used) : rk_out_string(NULL));
    rk_out_set(one, "why", rk_out_string(used ? NULL : why));
}

// An entry that cannot be read is not used; the other ones are examined nevertheless.
static rk_err *judge_item(inspection *s, const rk_bundle_module *module, const rk_bundle_item *item,
                          const rk_bundle_part *part, json_t *one) {
    size_t index;
    rk_err *err = rk_bundle_groups_of_item(&s->groups, s->bundle, module, item, part, &index);
    if (!err) {
        const rk_bundle_verdict *verdict = &s->groups.items[index].verdict;
        count_use(s, one, verdict->use,
                  verdict->why[0]              ? verdict->why
                  : part->kind == RK_PART_PACK ? verdict->why_not_known
                  : s->machine.run             ? ""
                                   : "no run in the store tells what this machine compiles with");
        return NULL;
    }
    if (rk_err_code(err) != RK_DATA_LOSS)
        return err;
    count_use(s, one, RK_USE_NO, rk_err_message(err));
    rk_err_drop(err, "it is shown");
    return NULL;
}

static uint64_t number_of(const rk_bundle_item *item, const char *name) {
    rk_span value;
    char text[32];
    if (!rk_bundle_attribute_find(item->attributes, name, &value))
        return 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)value.len, (const char *)value.data);
    return strtoull(text, NULL, 10);
}

static void add_pack(json_t *one, const rk_bundle_module *module, const rk_bundle_item *item) {
    rk_out_set(one, "module", rk_out_text(module->name));
    set_attribute(one, item, "job", "job", false);
    rk_out_set(one, "items", rk_out_uint(number_of(item, "items")));
    rk_out_set(one, "content_bytes", rk_out_uint(number_of(item, "size")));
}

static rk_err *add_entry(inspection *s, const rk_bundle_module *module,
                         const rk_bundle_item *item) {
    rk_bundle_part part;
    bool is_pack = rk_bundle_part_parse(item->name, &part) && part.kind == RK_PART_PACK;
    if (!is_pack && part.kind != RK_PART_EXECUTABLE)
        return NULL;
    json_t *one = rk_out_object();
    rk_out_append(is_pack ? s->packs : s->entries, one);
    rk_out_set(one, "key", rk_out_string(part.hex));
    set_attribute(one, item, "name", "name", false);
    if (is_pack)
        add_pack(one, module, item);
    set_attribute(one, item, "compile_seconds", "compile_seconds", true);
    rk_out_set(one, "bytes", rk_out_uint(rk_bundle_blob_of(s->bundle, item).raw_bytes));
    if (s->request->for_this_machine)
        return judge_item(s, module, item, &part, one);
    rk_out_set(one, "used", rk_out_string(NULL));
    rk_out_set(one, "why", rk_out_string(NULL));
    return NULL;
}

static json_t *pairs_json(rk_bundle_pairs pairs) {
    json_t *object = rk_out_object();
    for (size_t i = 0; i < pairs.count; i++) {
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        rk_buf_add_span(&name, pairs.items[i].name);
        rk_out_set(object, rk_need_text(&name), rk_out_text(pairs.items[i].value));
    }
    return object;
}

// Of a module with packs, the files in them count.
typedef struct module_size {
    uint64_t items, bytes, packs;
} module_size;

static module_size size_of(const rk_bundle_module *module) {
    module_size size = {0};
    for (size_t i = 0; i < module->item_count; i++) {
        rk_bundle_part part;
        const rk_bundle_item *item = &module->items[i];
        if (!rk_bundle_part_parse(item->name, &part) || part.kind != RK_PART_PACK)
            continue;
        size.packs++;
        size.items += number_of(item, "items");
        size.bytes += number_of(item, "size");
    }
    return size.packs ? size : (module_size){module->item_count, module->raw_bytes, 0};
}

static json_t *modules_json(const rk_bundle *bundle) {
    json_t *list = rk_out_array();
    size_t count;
    const rk_bundle_module *modules = rk_bundle_modules(bundle, &count);
    for (size_t i = 0; i < count; i++) {
        json_t *one = rk_out_object();
        rk_out_set(one, "name", rk_out_text(modules[i].name));
        module_size size = size_of(&modules[i]);
        rk_out_set(one, "items", rk_out_uint(size.items));
        rk_out_set(one, "bytes", rk_out_uint(size.bytes));
        rk_out_set(one, "packs", size.packs ? rk_out_uint(size.packs) : json_null());
        rk_out_append(list, one);
    }
    return list;
}

// True if an entry is used; false if none is; null if it is not known, or was not asked for.
static json_t *usable_json(const inspection *s) {
    if (s->used)
        return rk_out_bool(true);
    return s->unknown || !s->unused ? rk_out_string(NULL) : rk_out_bool(false);
}

static json_t *result_json(inspection *s) {
    const rk_bundle_head *head = rk_bundle_head_of(s->bundle);
    const rk_bundle_group *group =
        s->request->for_this_machine ? rk_bundle_groups_main(&s->groups) : NULL;
    json_t *object = rk_out_object();
    rk_out_set(object, "file", rk_out_string(s->request->file));
    rk_out_set(object, "format", rk_out_uint(RK_BUNDLE_VERSION));
    rk_out_set(object, "created", rk_out_string(rk_text_utc(head->created_ns).text));
    rk_out_set(object, "bytes", rk_out_uint(rk_bundle_file_bytes(s->bundle)));
    rk_out_set(object, "signature", rk_bundle_signature_json(s->bundle, &s->keys));
    rk_out_set(object, "made_with", pairs_json(head->made_with));
    rk_out_set(object, "annotations", pairs_json(head->annotations));
    rk_out_set(object, "modules", modules_json(s->bundle));
    rk_out_set(object, "entries", json_incref(s->entries));
    rk_out_set(object, "packs", json_incref(s->packs));
    rk_out_set(object, "usable", usable_json(s));
    rk_out_set(object, "mismatches",
               group ? json_incref(group->verdict.mismatches) : rk_out_array());
    rk_out_set(object, "compared_with_run", rk_out_string(s->machine.run));
    return object;
}

static const rk_table_column two_columns[] = {{.title = ""},
                                              {.title = "", .least = 16, .wrap = true}};

// Values of more than one line become one line. Digests are for --json.
static void print_made_with(const json_t *made_with, bool whole) {
    const size_t longest = whole ? SIZE_MAX : 160;
    RK_AUTO(rk_table) table = {.columns = two_columns, .column_count = 2};
    const char *name;
    json_t *value;
    (void)puts("\nmade with");
    json_object_foreach((json_t *)(uintptr_t)made_with, name, value) {
        RK_AUTO(rk_buf) indented = RK_BUF_INIT(0);
        RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
        const char *all = json_string_value(value);
        if (strcmp(name, "environment") == 0)
            continue;
        rk_buf_add_format(&indented, "  %s", name);
        rk_buf_add(&text, all, strnlen(all, longest));
        for (size_t i = 0; i < text.len; i++)
            if (text.data[i] == '\n')
                text.data[i] = ' ';
        rk_buf_add_text(&text, strlen(all) > longest ? " …" : "");
        rk_table_add(&table, RK_STYLE_DIM, rk_need_text(&indented));
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&text));
    }
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static void print_head(inspection *s) {
    const rk_bundle_head *head = rk_bundle_head_of(s->bundle);
    RK_AUTO(rk_table) table = {.columns = two_columns, .column_count = 2};
    RK_AUTO(rk_buf) signature = RK_BUF_INIT(0);
    size_t count;
    const rk_bundle_module *modules = rk_bundle_modules(s->bundle, &count);
    rk_bundle_signature_add_text(s->bundle, &s->keys, &signature);
    rk_table_add(&table, RK_STYLE_DIM, "bundle");
    rk_table_add(&table, RK_STYLE_BOLD, s->request->file);
    rk_table_add(&table, RK_STYLE_DIM, "made");
    rk_table_add(&table, RK_STYLE_NONE, rk_text_local_time(head->created_ns).text);
    rk_table_add(&table, RK_STYLE_DIM, "size");
    rk_table_add(&table, RK_STYLE_NONE, rk_text_bytes(rk_bundle_file_bytes(s->bundle)).text);
    rk_table_add(&table, RK_STYLE_DIM, "signature");
    rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&signature));
    for (size_t i = 0; i < count; i++) {
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        rk_buf_add_span(&line, modules[i].name);
        module_size size = size_of(&modules[i]);
        rk_buf_add_format(&line, ": %llu item%s, %s", (unsigned long long)size.items,
                          rk_text_plural(size.items), rk_text_bytes(size.bytes).text);
        rk_table_add(&table, RK_STYLE_DIM, i ? "" : "modules");
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&line));
    }
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static const char *use_text(const inspection *s, const json_t *one) {
    const json_t *used = json_object_get(one, "used");
    if (!s->request->for_this_machine)
        return "";
    return json_is_null(used) ? "not known" : json_is_true(used) ? "yes" : "no";
}

static double seconds_of(const json_t *one) {
    return json_real_value(json_object_get(one, "compile_seconds"));
}

static int by_cost(const void *a, const void *b) {
    double x = seconds_of(*(const json_t *const *)a), y = seconds_of(*(const json_t *const *)b);
    return (x < y) - (x > y);
}

// The costliest executables first.
static void print_entries(const inspection *s) {
    enum { OTHER_LINES = 36, SHOWN_MIN = 10 };
    const rk_table_column columns[] = {
        {.title = "  NAME", .least = 12, .middle = true},
        {.title = "COMPILED IN", .right = true},
        {.title = "SIZE", .right = true},
        {.title = s->request->for_this_machine ? "USED HERE" : ""},
        {.title = s->request->for_this_machine ? "WHY NOT" : "", .least = 16, .wrap = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    size_t count = json_array_size(s->entries), lines = rk_term_two_screens(stdout);
    size_t most = s->request->all || lines == SIZE_MAX ? SIZE_MAX
                  : lines > OTHER_LINES + SHOWN_MIN    ? lines - OTHER_LINES
                                                       : SHOWN_MIN;
    if (count == 0)
        return;
    rk_autofree const json_t **sorted = rk_need(rk_calloc(count, sizeof *sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = json_array_get(s->entries, i);
    qsort(sorted, count, sizeof *sorted, by_cost);
    for (size_t i = 0; i < count && i < most; i++) {
        const json_t *one = sorted[i];
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        const char *its = json_string_value(json_object_get(one, "name"));
        const char *why = json_string_value(json_object_get(one, "why"));
        double seconds = seconds_of(one);
        rk_buf_add_format(&name, "  %s", its ? its : "?");
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&name));
        rk_table_add(&table, RK_STYLE_NONE, rk_text_seconds((uint64_t)(seconds * 1e9)).text);
        rk_table_add(
            &table, RK_STYLE_NONE,
            rk_text_bytes((uint64_t)json_integer_value(json_object_get(one, "bytes"))).text);
        rk_table_add(&table, RK_STYLE_NONE, use_text(s, one));
        rk_table_add(&table, RK_STYLE_NONE, why ? why : "");
    }
    (void)puts("\nexecutables");
    rk_table_print(&table, rk_term_columns(stdout), stdout);
    if (count > most)
        (void)printf("  and %zu more: --all lists all\n", count - most);
}

static void print_packs(const inspection *s) {
    const rk_table_column columns[] = {
        {.title = "  MODULE"},
        {.title = "JOB", .least = 12, .middle = true},
        {.title = "FILES", .right = true},
        {.title = "SIZE", .right = true},
        {.title = s->request->for_this_machine ? "USED HERE" : ""},
        {.title = s->request->for_this_machine ? "WHY NOT" : "", .least = 16, .wrap = true}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    size_t index;
    json_t *one;
    json_array_foreach(s->packs, index, one) {
        RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
        const char *job = json_string_value(json_object_get(one, "job"));
        const char *why = json_string_value(json_object_get(one, "why"));
        rk_buf_add_format(&name, "  %s", json_string_value(json_object_get(one, "module")));
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&name));
        rk_table_add(&table, RK_STYLE_NONE, job ? job : "?");
        rk_table_add(
            &table, RK_STYLE_NONE,
            rk_text_count((uint64_t)json_integer_value(json_object_get(one, "items"))).text);
        rk_table_add(
            &table, RK_STYLE_NONE,
            rk_text_bytes((uint64_t)json_integer_value(json_object_get(one, "bytes"))).text);
        rk_table_add(&table, RK_STYLE_NONE, use_text(s, one));
        rk_table_add(&table, RK_STYLE_NONE, why ? why : "");
    }
    if (index == 0)
        return;
    (void)puts("\npacks of cache directories");
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static const char *noun_of(const inspection *s) {
    if (json_array_size(s->packs) == 0)
        return "executables";
    return json_array_size(s->entries) ? "executables and packs" : "packs";
}

static void print_verdict(const inspection *s) {
    const rk_bundle_group *group = rk_bundle_groups_main(&s->groups);
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    if (group && group->verdict.differs) {
        char *text = rk_bundle_mismatches_text(group->verdict.mismatches);
        (void)printf("\n%s", text);
        free(text);
    }
    (void)putchar('\n');
    if (!s->machine.run && json_array_size(s->entries) > 0)
        rk_buf_add_text(&line, "Plugin, devices and framework of this machine are not known, since "
                               "no run in the store recorded them. ");
    rk_buf_add_format(&line, "%zu of %zu %s would be used here", s->used,
                      s->used + s->unused + s->unknown, noun_of(s));
    if (s->unknown)
        rk_buf_add_format(&line, "; of %zu it is not known", s->unknown);
    if (s->machine.run && json_array_size(s->entries) > 0)
        rk_buf_add_format(&line, " (compared with the run %s)", s->machine.run);
    rk_buf_add_text(&line, ".");
    rk_term_line(rk_need_text(&line), 0);
}

static rk_err *examine(inspection *s) {
    size_t count;
    const rk_bundle_module *modules = rk_bundle_modules(s->bundle, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < modules[i].item_count; k++)
            if (rk_bundle_module_is_known(modules[i].name))
                RK_TRY(add_entry(s, &modules[i], &modules[i].items[k]));
    RK_TRY(rk_bundle_groups_check_python(&s->groups));
    json_t *result = result_json(s);
    if (s->request->json) {
        rk_out_print(result);
        return NULL;
    }
    print_head(s);
    print_made_with(json_object_get(result, "made_with"), s->request->all);
    json_decref(result);
    print_entries(s);
    print_packs(s);
    if (s->request->for_this_machine)
        print_verdict(s);
    return NULL;
}

static rk_err *read_machine(inspection *s, const rk_settings *settings) {
    RK_AUTO_STORE store = NULL;
    s->groups.machine = &s->machine;
    s->groups.head = rk_bundle_head_of(s->bundle);
    if (!s->request->for_this_machine)
        return NULL;
    RK_TRY(rk_place_open_store(settings, true, &store));
    s->machine.python_asked = s->request->python;
    s->machine.directory = s->request->directory;
    return rk_machine_read(settings, store, &s->machine);
}

rk_err *rk_bundle_inspect(const rk_settings *settings, const rk_bundle_inspect_request *request,
                          bool *out_usable) {
    rk_autobundle bundle = NULL;
    RK_TRY(rk_bundle_open(request->file, &bundle));
    inspection s = {
        .request = request, .bundle = bundle, .entries = rk_out_array(), .packs = rk_out_array()};
    rk_err *err = rk_bundle_keys_read(settings, request->trust, &s.keys);
    if (!err)
        err = read_machine(&s, settings);
    if (!err)
        err = examine(&s);
    *out_usable = s.used || s.unknown || !s.unused;
    inspection_cleanup(&s);
    return err;
}
