#include "pack/stored.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/sys.h"
#include "store/manifest.h"

enum { INDEX_DIGITS = 32 };

// How the names of lists begin.
static const char *const starts[RK_PACK_FAMILIES] = {"torch-", "jax-"};

void rk_pack_list_cleanup(rk_pack_list *list) {
    rk_free(list->items);
    *list = (rk_pack_list){0};
}

void rk_pack_place_identify(const rk_pack_place *place, rk_digest *out_identity) {
    char head[32];
    rk_hasher hasher;
    (void)snprintf(head, sizeof head, "%s job", rk_pack_family_name(place->family));
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(head));
    rk_hasher_add_field(&hasher, rk_span_text(place->job));
    rk_hasher_add_field(&hasher, rk_span_text(place->name_space));
    rk_hasher_add_field(&hasher, rk_digest_span(&place->environment));
    rk_hasher_finish(&hasher, out_identity);
}

// The name of the folder in jobs/.
typedef struct index_name {
    char text[sizeof "torch-" + INDEX_DIGITS];
} index_name;

static index_name index_of(const rk_pack_place *place) {
    index_name name;
    rk_digest identity;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_pack_place_identify(place, &identity);
    rk_digest_to_hex(&identity, hex);
    (void)snprintf(name.text, sizeof name.text, "%s%.*s", starts[place->family], INDEX_DIGITS, hex);
    return name;
}

bool rk_pack_list_is_name(const char *job) {
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++) {
        size_t len = strlen(starts[i]);
        if (strncmp(job, starts[i], len) == 0 &&
            strspn(job + len, "0123456789abcdef") == INDEX_DIGITS && !job[len + INDEX_DIGITS])
            return true;
    }
    return false;
}

// A use of the manifest with the name of a module as its options.
static bool parse_use(const rk_manifest *manifest, const rk_manifest_use *use, rk_pack *out_pack) {
    char name[32];
    rk_span options = rk_manifest_find_options(manifest, &use->key.options);
    out_pack->key = use->key;
    (void)snprintf(name, sizeof name, "%.*s", (int)options.len, (const char *)options.data);
    return rk_pack_module_parse(name, &out_pack->module);
}

// Lists the packs that exist. `out_uses` digests the whole list.
static rk_err *list(const rk_pack_place *place, rk_pack_list *out_list, rk_digest *out_uses,
                    bool *out_all_exist) {
    RK_AUTO(rk_manifest) manifest = {0};
    rk_hasher uses;
    *out_all_exist = true;
    RK_TRY(rk_manifest_read(place->store, index_of(place).text, 0, &manifest));
    out_list->items = rk_calloc(manifest.use_count + 1, sizeof *out_list->items);
    if (!out_list->items)
        return rk_err_no_memory();
    rk_hasher_init(&uses);
    for (size_t i = 0; i < manifest.use_count; i++) {
        rk_pack *pack = &out_list->items[out_list->count];
        rk_hasher_add_field(&uses, rk_digest_span(&manifest.uses[i].key.digest));
        if (!parse_use(&manifest, &manifest.uses[i], pack) ||
            !rk_digest_equal(&pack->key.environment, &place->environment))
            continue;
        bool exists = rk_store_has(place->store, RK_ENTRY_EXECUTABLE, &pack->key);
        *out_all_exist &= exists;
        out_list->count += exists;
    }
    rk_hasher_finish(&uses, out_uses);
    return NULL;
}

// If packs are missing, another process may have just replaced them: reads the list until it is the
// same twice.
rk_err *rk_pack_list_read(const rk_pack_place *place, rk_pack_list *out_list) {
    enum { TRIES = 4 };
    rk_digest before = {0}, uses = {0};
    bool all_exist = false;
    for (int i = 0; i < TRIES && !all_exist; i++) {
        rk_pack_list_cleanup(out_list);
        RK_TRY(list(place, out_list, &uses, &all_exist));
        if (i > 0 && rk_digest_equal(&before, &uses))
            break;
        before = uses;
    }
    return NULL;
}

void rk_pack_view_cleanup(rk_pack_view *view) {
    rk_free(view->items);
    rk_store_lookup_cleanup(&view->lookup);
    *view = (rk_pack_view){0};
}

rk_err *rk_pack_read(const rk_pack_place *place, const rk_pack *pack, rk_pack_view *out_view) {
    RK_TRY(rk_store_get(place->store, &pack->key, &out_view->lookup));
    out_view->is_damaged = out_view->lookup.fault != RK_ENTRY_OK;
    if (!out_view->lookup.found)
        return NULL;
    rk_err *err =
        rk_pack_decode(out_view->lookup.view.entry.payload, &out_view->items, &out_view->count);
    if (!err)
        err = rk_pack_check(place->family, pack->module, out_view->items, out_view->count);
    if (rk_err_code(err) == RK_DATA_LOSS) {
        rk_err_drop(err, "the pack is moved to quarantine/");
        out_view->is_damaged = true;
        (void)rk_store_quarantine(place->store, &pack->key);
        return NULL;
    }
    out_view->found = !err;
    return err;
}

static void options_digest(const rk_pack_place *place, rk_pack_module module,
                           rk_digest *out_digest) {
    char head[32];
    rk_hasher hasher;
    (void)snprintf(head, sizeof head, "%s pack", rk_pack_family_name(place->family));
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(head));
    rk_hasher_add_field(&hasher, rk_span_text(rk_pack_module_name(module)));
    rk_hasher_add_field(&hasher, rk_span_text(place->job));
    rk_hasher_finish(&hasher, out_digest);
}

static void write_metadata(const rk_pack_place *place, const char *module, size_t count,
                           rk_buf *out) {
    RK_AUTO(rk_buf) name = {0};
    rk_json json = rk_json_on(out);
    const char *platform = rk_pack_family_name(place->family);
    bool is_jax = place->family == RK_FAMILY_JAX;
    rk_buf_add_format(&name, "%s %s", is_jax ? "JAX" : platform,
                      strcmp(module, "jax") == 0 ? "cache" : module);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", rk_buf_text(&name));
    rk_json_member_string(&json, "platform", platform);
    rk_json_member_string(&json, "pack", module);
    rk_json_member_string(&json, "job", place->job);
    rk_json_member_string(&json, "namespace", place->name_space);
    rk_json_member_string(&json, "run", place->run);
    rk_json_member_string(&json, "rekindle", REKINDLE_VERSION);
    rk_json_member_uint(&json, "items", count);
    rk_json_end_object(&json);
}

// How long it takes to make the files, roughly.
static uint64_t cost_of(const rk_pack_item *items, size_t count) {
    uint64_t cost_ns = 0;
    for (size_t i = 0; i < count; i++) {
        char name[RK_PACK_NAME_MAX_BYTES + 1];
        rk_pack_item_name(&items[i], name);
        cost_ns += rk_pack_cost_ns(name);
    }
    return cost_ns;
}

rk_err *rk_pack_store(const rk_pack_place *place, rk_pack_module module, rk_pack_item *items,
                      size_t count, rk_pack *out_pack, bool *out_stored) {
    RK_AUTO(rk_buf) payload = RK_BUF_INIT(RK_ENTRY_MAX_BYTES);
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_buf) components = {0};
    rk_key key = {.environment = place->environment};
    RK_TRY(rk_pack_encode(items, count, &payload));
    rk_pack_digest(items, count, &key.program);
    options_digest(place, module, &key.options);
    rk_key_finish(&key, place->name_space);
    write_metadata(place, rk_pack_module_name(module), count, &metadata);
    rk_buf_add_text(&components, "{\"options\":[],\"environment\":");
    rk_buf_add_span(&components, place->components_json);
    rk_buf_add_text(&components, "}");
    RK_TRY(rk_buf_status(&metadata));
    RK_TRY(rk_buf_status(&components));
    *out_pack = (rk_pack){key, module};
    *out_stored = false;
    if (rk_store_has(place->store, RK_ENTRY_EXECUTABLE, &key))
        return NULL; // another start has stored the same files
    const rk_entry entry = {
        .kind = RK_ENTRY_EXECUTABLE,
        .key = key,
        .created_ns = rk_realtime_ns(),
        .compile_ns = cost_of(items, count),
        .components = rk_buf_span(&components),
        .metadata = rk_buf_span(&metadata),
        .payload = rk_buf_span(&payload),
    };
    RK_TRY(rk_store_put(place->store, &entry, NULL));
    *out_stored = true;
    return NULL;
}

static rk_err *note(rk_manifest *manifest, const rk_pack *pack) {
    const rk_manifest_use use = {.key = pack->key};
    return rk_manifest_note(manifest, &use, rk_span_text(rk_pack_module_name(pack->module)));
}

rk_err *rk_pack_list_note(const rk_pack_place *place, const rk_pack *packs, size_t count) {
    RK_AUTO(rk_pack_list) listed = {0};
    RK_AUTO(rk_manifest) seen = {0};
    RK_TRY(rk_pack_list_read(place, &listed));
    for (size_t i = 0; i < listed.count; i++)
        RK_TRY(note(&seen, &listed.items[i]));
    for (size_t i = 0; i < count; i++)
        RK_TRY(note(&seen, &packs[i]));
    if (seen.use_count == 0)
        return NULL;
    return rk_manifest_update(place->store, index_of(place).text, 0, place->run, &seen);
}

void rk_pack_drop(const rk_pack_place *place, const rk_pack *pack) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    uint64_t bytes = 0;
    rk_digest_to_hex(&pack->key.digest, hex);
    rk_err_drop(rk_store_remove(place->store, hex, &bytes), "eviction removes it some day");
}
