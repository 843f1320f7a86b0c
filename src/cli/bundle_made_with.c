#include "cli/bundle_made_with.h"

#include "base/fd.h"
#include "cli/fail.h"
#include "identity/host_cpu.h"
#include "journal/read.h"
#include "pack/module.h"
#include "store/store_file.h"

enum { VALUE_MAX_BYTES = 8192 };

void rk_bundle_facts_cleanup(rk_bundle_facts *facts) {
    json_decref(facts->object);
    rk_free(facts->pairs);
    *facts = (rk_bundle_facts){0};
}

void rk_bundle_facts_pair(rk_bundle_facts *facts) {
    const char *name;
    json_t *value;
    facts->pairs = rk_need(rk_calloc(json_object_size(facts->object) + 1, sizeof *facts->pairs));
    json_object_foreach(facts->object, name, value) facts->pairs[facts->count++] =
        (rk_bundle_pair){rk_span_text(name), rk_span_text(json_string_value(value))};
}

static void set(json_t *object, const char *name, const char *value) {
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return; // a name that a header may not have
    if (*name && value && strlen(value) <= VALUE_MAX_BYTES)
        rk_out_set(object, name, rk_out_nullable(value));
}

// Versions, devices and the CPU. Options, flags and variables belong to jobs and stay in entries.
static void add_components(json_t *object, const json_t *list) {
    size_t index;
    json_t *one;
    json_array_foreach(list, index, one) {
        const char *kind = json_string_value(json_object_get(one, "kind"));
        const char *name = json_string_value(json_object_get(one, "name"));
        const json_t *value = json_object_get(one, "value");
        if (!kind || !name || !value ||
            (strcmp(kind, "version") != 0 && strcmp(kind, "topology") != 0))
            continue;
        const char *digest = json_string_value(json_object_get(value, "digest"));
        set(object, name, digest ? digest : json_string_value(value));
    }
}

// An entry has only the digest of the CPU's features. If this CPU has the same ones, the header
// gets them in full, so that another machine can name those that differ.
static rk_err *add_features(json_t *object) {
    static const char name[] = "host.cpu_features";
    const char *digest = json_string_value(json_object_get(object, name));
    RK_AUTO(rk_components) cpu = {0};
    if (!digest)
        return NULL;
    RK_TRY(rk_host_cpu_add(&cpu));
    for (size_t i = 0; i < cpu.count; i++) {
        const rk_component *one = &cpu.items[i];
        rk_digest its;
        char hex[RK_DIGEST_HEX_CHARS + 1];
        rk_digest_of(rk_span_of(one->value, one->value_len), &its);
        rk_digest_to_hex(&its, hex);
        if (strcmp(one->name, name) == 0 && strcmp(hex, digest) == 0)
            set(object, name, one->value);
    }
    return NULL;
}

static void add_metadata(json_t *object, const json_t *metadata) {
    const char *name;
    json_t *value;
    static const char *const members[] = {"platform", "rekindle"};
    for (size_t i = 0; i < RK_ARRAY_LEN(members); i++)
        set(object, members[i], json_string_value(json_object_get(metadata, members[i])));
    json_object_foreach(json_object_get(metadata, "toolchain"), name, value)
        set(object, name, json_string_value(value));
}

static rk_err *describe(const rk_entry *entry, json_t *object) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    json_t *metadata = rk_out_parsed(entry->metadata);
    json_t *components = rk_out_parsed(entry->components);
    rk_digest_to_hex(&entry->key.environment, hex);
    add_metadata(object, metadata);
    add_components(object, json_object_get(components, "environment"));
    set(object, "environment", hex);
    json_decref(metadata);
    json_decref(components);
    return add_features(object);
}

// The environment of the run's last client; "" if it is not known.
static rk_err *environment_of_run(rk_store *store, const char *run, rk_run_hex out_hex) {
    RK_AUTO(rk_run_model) model = {0};
    out_hex[0] = '\0';
    if (!run)
        return NULL;
    RK_TRY(rk_run_load(rk_store_directory(store), run, &model));
    for (size_t i = 0; i < model.client_count; i++)
        if (model.clients[i].environment[0])
            memcpy(out_hex, model.clients[i].environment, sizeof(rk_run_hex));
    return NULL;
}

// Describes this entry if it suits better than the ones before. `*out_done`: no other can.
static rk_err *try_entry(rk_store *store, const rk_kept *kept, const char *environment,
                         uint64_t *newest_ns, json_t **object, bool *out_done) {
    RK_AUTO(rk_buf) start = RK_BUF_INIT(RK_ENTRY_START_MAX_BYTES);
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_kind kind = kept->has_executable ? RK_ENTRY_EXECUTABLE : RK_ENTRY_PROGRAM;
    rk_entry_fault fault = RK_ENTRY_OK;
    rk_autofd fd = -1;
    uint64_t bytes = 0;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    bool is_sound = false;
    rk_err *err = rk_store_open_file(store, kind, kept->hex, &fd, &bytes);
    if (err) {
        rk_err_drop(err, "the packing reports it");
        return NULL;
    }
    RK_TRY(rk_store_peek_file(fd, bytes, &start, &view, &fault));
    const rk_entry *entry = &view.entry;
    rk_digest_to_hex(&entry->key.environment, hex);
    bool is_wanted = strcmp(hex, environment) == 0;
    if (fault || (!is_wanted && entry->created_ns <= *newest_ns))
        return NULL;
    RK_TRY(rk_store_has_sound(store, kind, kept->hex, &is_sound, NULL));
    if (!is_sound)
        return NULL;
    *out_done = is_wanted;
    *newest_ns = entry->created_ns;
    json_decref(*object);
    *object = rk_out_object();
    return describe(entry, *object);
}

// True if the entry is a pack of this family; RK_PACK_FAMILIES: if it is no pack.
static bool is_of(const rk_kept *kept, rk_pack_family family) {
    return kept->pack ? kept->family == family : family == RK_PACK_FAMILIES;
}

// Describes the best entry among the packs of a family, or among the other entries.
static rk_err *try_entries(rk_store *store, const rk_bundle_selection *selection,
                           rk_pack_family family, const char *environment, json_t **object) {
    uint64_t newest_ns = 0;
    bool done = false;
    for (size_t i = 0; i < selection->entries.count && !done; i++) {
        const rk_kept *kept = &selection->entries.items[i];
        if (is_of(kept, family))
            RK_TRY(try_entry(store, kept, environment, &newest_ns, object, &done));
    }
    return NULL;
}

static void add_others(json_t *object, const json_t *more) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)more, name, value) if (!json_object_get(object, name))
        rk_out_set(object, name, json_incref(value));
}

rk_err *rk_bundle_made_with(rk_store *store, const rk_bundle_selection *selection,
                            rk_bundle_facts *out_facts) {
    rk_run_hex environment;
    out_facts->object = rk_out_object();
    RK_TRY(environment_of_run(store, selection->newest_run, environment));
    RK_TRY(try_entries(store, selection, RK_PACK_FAMILIES, environment, &out_facts->object));
    rk_err *err = NULL;
    for (size_t i = 0; i < RK_PACK_FAMILIES && !err; i++) {
        json_t *packs = rk_out_object();
        err = try_entries(store, selection, (rk_pack_family)i, "", &packs);
        if (!err)
            add_others(out_facts->object, packs);
        json_decref(packs);
    }
    rk_bundle_facts_pair(out_facts);
    return err;
}
