#include "cli/bundle_import.h"

#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "cli/bundle_directory.h"
#include "cli/bundle_keys.h"
#include "cli/bundle_packs.h"
#include "cli/bundle_stage.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/term.h"
#include "cli/text.h"

// One import.
typedef struct importer {
    const rk_bundle_import_request *request;
    const rk_settings *settings;
    const rk_bundle *bundle;
    rk_bundle_keys keys;
    rk_machine machine;
    rk_bundle_plan plan;
    size_t imported[RK_PART_KINDS], present[RK_PART_KINDS], refused[RK_PART_KINDS];
    uint64_t imported_bytes;
    rk_pack_family family; // whose files come into --directory
    size_t files;          // written there
} importer;

static void importer_cleanup(importer *s) {
    rk_bundle_keys_cleanup(&s->keys);
    rk_bundle_plan_cleanup(&s->plan);
    rk_machine_cleanup(&s->machine);
}

// Makes a refusal of an error about the content of the bundle. An error of the system stays.
static rk_err *refusal(const char *file, rk_err *err) {
    rk_code code = rk_err_code(err);
    if (!err || rk_err_errno(err) || code == RK_NOT_FOUND || code == RK_RESOURCE_EXHAUSTED)
        return err;
    const char *why = rk_err_message(err);
    size_t len = strlen(file);
    if (strncmp(why, file, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2; // the reader's messages begin with the file
    rk_err *refused = rk_error(RK_ABORTED, "%s is refused, and nothing was changed: %s", file, why);
    rk_err_drop(err, "its message is part of the refusal");
    return refused;
}

static rk_err *check_signature(const importer *s) {
    rk_sign_public key = rk_bundle_signature_of(s->bundle).key;
    char id[RK_KEY_ID_HEX_CHARS + 1];
    rk_key_id(&key, id);
    switch (rk_bundle_signer_of(s->bundle, &s->keys)) {
    case RK_SIGNER_OWN:
    case RK_SIGNER_TRUSTED:
        return NULL;
    case RK_SIGNER_INVALID:
        return rk_error(RK_DATA_LOSS, "its signature does not match: it was changed after it was "
                                      "signed");
    case RK_SIGNER_UNKNOWN:
        if (!s->request->is_unsigned)
            return rk_error(RK_PERMISSION_DENIED,
                            "it is signed by the key %s, which is not trusted. A bundle holds code "
                            "that your jobs run. If you trust its maker, give --trust KEY: `bundle "
                            "export` prints the key there",
                            id);
        return NULL;
    case RK_SIGNER_NONE:
        break;
    }
    if (s->request->is_unsigned)
        return NULL;
    return rk_error(RK_PERMISSION_DENIED, "it is not signed, so anyone may have made it. A bundle "
                                          "holds code that your jobs run. --unsigned imports it "
                                          "nevertheless");
}

static void warn_unsigned(const importer *s) {
    rk_bundle_signer signer = rk_bundle_signer_of(s->bundle, &s->keys);
    if (signer == RK_SIGNER_OWN || signer == RK_SIGNER_TRUSTED)
        return;
    (void)fputs("rekindle: --unsigned: nobody vouches for this bundle, and your jobs will run its "
                "code with your rights\n",
                stderr);
}

// The bundle must have each module that was asked for, and one that can be imported.
static rk_err *find_modules(importer *s) {
    size_t count, known = 0;
    const rk_bundle_module *modules = rk_bundle_modules(s->bundle, &count);
    s->plan.bundle = s->bundle;
    s->plan.modules = s->request->modules;
    for (size_t i = 0; i < s->request->modules->count; i++)
        if (!rk_bundle_module_find(s->bundle, s->request->modules->items[i]))
            return rk_error(RK_FAILED_PRECONDITION,
                            "it has no module %s: `rekindle bundle inspect` lists its modules",
                            s->request->modules->items[i]);
    for (size_t i = 0; i < count; i++)
        known += rk_bundle_module_is_known(modules[i].name);
    if (known)
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "it has no module pjrt, nor another one that this version of rekindle can "
                    "import");
}

// Eviction would remove what was imported first, and entries that were in the store before.
static rk_err *check_limit(const importer *s) {
    uint64_t limit = rk_settings_get(s->settings)->max_size_bytes;
    uint64_t bytes = rk_bundle_plan_bytes(&s->plan);
    if (bytes <= limit)
        return NULL;
    return rk_error(RK_OUT_OF_RANGE, "it has %s to import, and REKINDLE_MAX_SIZE is %s",
                    rk_text_bytes(bytes).text, rk_text_bytes(limit).text);
}

// Finds the file system of the store, which may not exist yet.
static bool find_space(const char *directory, uint64_t *out_free_bytes) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    struct statvfs info;
    rk_buf_add_text(&path, directory);
    (void)rk_need_text(&path);
    while (rk_sys()->statvfs_fn((const char *)path.data, &info) != 0) {
        char *slash = strrchr((char *)path.data, '/');
        if (!slash || slash == (char *)path.data)
            return false;
        *slash = '\0';
    }
    *out_free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
    return info.f_blocks > 0; // some file systems do not tell
}

// A full disk in the middle of an import would disturb the running jobs too.
static rk_err *check_space(const importer *s) {
    enum { FILE_BYTES = 4096 }; // what a file takes beyond its content
    uint64_t free_bytes = 0, bytes = rk_bundle_plan_bytes(&s->plan);
    if (bytes == 0 || !find_space(rk_settings_get(s->settings)->dir, &free_bytes))
        return NULL;
    for (size_t i = 0; i < s->plan.count; i++)
        bytes += s->plan.items[i].fate == RK_FATE_IMPORT ? FILE_BYTES : 0;
    if (bytes <= free_bytes)
        return NULL;
    return rk_error(RK_OUT_OF_RANGE, "it has %s to import, and the file system of %s has %s free",
                    rk_text_bytes(bytes).text, rk_settings_get(s->settings)->dir,
                    rk_text_bytes(free_bytes).text);
}

// What can refuse the bundle before its entries are read. Writes nothing. `store` is NULL if there
// is none yet.
static rk_err *validate(importer *s, rk_store *store) {
    RK_TRY(check_signature(s));
    RK_TRY(find_modules(s));
    s->plan.groups.machine = &s->machine;
    s->plan.groups.head = rk_bundle_head_of(s->bundle);
    RK_TRY(rk_bundle_plan_make(&s->plan, s->request->force));
    if (s->request->directory)
        RK_TRY(rk_bundle_directory_choose(&s->plan, s->request->directory, &s->family));
    RK_TRY(rk_bundle_plan_find_present(&s->plan, store));
    RK_TRY(check_limit(s));
    return check_space(s);
}

static rk_err *put_manifest(const importer *s, rk_store *store, const rk_bundle_planned *one) {
    RK_AUTO(rk_manifest) manifest = {0};
    RK_TRY(rk_bundle_part_read_manifest(s->bundle, one->module, one->item, &manifest));
    const char *run = manifest.run_count ? manifest.runs[manifest.run_count - 1].id : "imported";
    return rk_manifest_update(store, one->part.job, one->part.rank, run, &manifest);
}

// A manifest comes after the entries that it names.
static rk_err *publish(importer *s, rk_store *store, rk_bundle_stage *stage) {
    RK_TRY(rk_store_set_limit(store, rk_settings_get(s->settings)->max_size_bytes));
    RK_TRY(rk_bundle_stage_publish(stage, s->plan.items));
    for (size_t i = 0; i < s->plan.count; i++) {
        const rk_bundle_planned *one = &s->plan.items[i];
        if (one->part.kind == RK_PART_MANIFEST && one->fate == RK_FATE_IMPORT)
            RK_TRY(put_manifest(s, store, one));
        // Also of a pack that was there: the job may not list it.
        if (one->part.kind == RK_PART_PACK && one->fate != RK_FATE_REFUSED)
            RK_TRY(rk_bundle_pack_list(store, s->bundle, one));
    }
    return NULL;
}

static rk_err *check_packs(const importer *s) {
    for (size_t i = 0; i < s->plan.count; i++) {
        const rk_bundle_planned *one = &s->plan.items[i];
        if (one->part.kind == RK_PART_PACK && one->fate == RK_FATE_IMPORT)
            RK_TRY(rk_bundle_pack_check(s->bundle, one));
    }
    return NULL;
}

static rk_err *check_and_publish(importer *s, rk_store *store) {
    rk_bundle_stage stage = {.plan = &s->plan, .store = store};
    rk_err *err = refusal(s->request->file, rk_bundle_stage_fill(&stage));
    if (!err)
        err = refusal(s->request->file, check_packs(s));
    if (rk_err_errno(err))
        err = rk_err_wrap(err, "nothing was imported");
    if (!err && store)
        err = rk_err_wrap(publish(s, store, &stage),
                          "the import was interrupted; what was imported is complete, and another "
                          "import goes on from there");
    if (!err && store && s->request->directory)
        err =
            rk_bundle_directory_fill(store, &s->plan, s->request->directory, s->family, &s->files);
    rk_bundle_stage_cleanup(&stage);
    return err;
}

// Reads all entries, and writes them into the store, which is made if it does not exist.
static rk_err *bring(importer *s) {
    rk_store *store = NULL;
    const char *directory = rk_settings_get(s->settings)->dir;
    rk_store_before before = rk_store_look(directory);
    if (s->request->dry_run)
        return check_and_publish(s, NULL);
    RK_TRY(rk_store_open(directory, false, &store));
    rk_err *err = check_and_publish(s, store);
    if (err)
        rk_store_undo_open(store, before);
    else
        rk_store_free(store);
    return err;
}

static void count(importer *s) {
    for (size_t i = 0; i < s->plan.count; i++) {
        const rk_bundle_planned *one = &s->plan.items[i];
        size_t *counts = one->fate == RK_FATE_IMPORT    ? s->imported
                         : one->fate == RK_FATE_PRESENT ? s->present
                                                        : s->refused;
        counts[one->part.kind]++;
        if (one->fate == RK_FATE_IMPORT)
            s->imported_bytes += one->bytes;
    }
}

static size_t sum(const size_t counts[RK_PART_KINDS]) {
    size_t all = 0;
    for (size_t i = 0; i < RK_PART_KINDS; i++)
        all += counts[i];
    return all;
}

static json_t *counts_json(const size_t counts[RK_PART_KINDS]) {
    static const char *const names[] = {"executables", "programs", "manifests", "packs"};
    json_t *object = rk_out_object();
    for (size_t i = 0; i < RK_PART_KINDS; i++)
        rk_out_set(object, names[i], rk_out_uint(counts[i]));
    return object;
}

static void print_json(const importer *s) {
    json_t *object = rk_out_object(), *refused = rk_out_array();
    for (size_t i = 0; i < s->plan.count; i++) {
        const rk_bundle_planned *one = &s->plan.items[i];
        if (one->fate != RK_FATE_REFUSED)
            continue;
        json_t *item = rk_out_object();
        rk_out_set(item, "item", rk_out_text(one->item->name));
        rk_out_set(item, "why", rk_out_string(one->why));
        rk_out_append(refused, item);
    }
    rk_out_set(object, "file", rk_out_string(s->request->file));
    rk_out_set(object, "signature", rk_bundle_signature_json(s->bundle, &s->keys));
    rk_out_set(object, "imported", counts_json(s->imported));
    rk_out_set(object, "imported_bytes", rk_out_uint(s->imported_bytes));
    rk_out_set(object, "present", counts_json(s->present));
    rk_out_set(object, "refused", refused);
    rk_out_set(object, "files", s->request->directory ? rk_out_uint(s->files) : json_null());
    rk_out_set(object, "dry_run", rk_out_bool(s->request->dry_run));
    rk_out_print(object);
}

static bool is_refused(const importer *s, size_t group) {
    const rk_bundle_verdict *verdict = &s->plan.groups.items[group].verdict;
    return verdict->use == RK_USE_NO || (verdict->differs && !s->request->force);
}

// True if an earlier group was refused for the same reason.
static bool was_said(const importer *s, size_t group) {
    const char *why = s->plan.groups.items[group].verdict.why;
    for (size_t i = 0; i < group; i++)
        if (is_refused(s, i) && strcmp(s->plan.groups.items[i].verdict.why, why) == 0)
            return true;
    return false;
}

static void print_text(const importer *s) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_text(&line, s->request->dry_run ? "would import" : "imported");
    rk_bundle_part_add_counts(s->imported, &line);
    rk_buf_add_format(&line, " (%s); already there: %zu; refused: %zu",
                      rk_text_bytes(s->imported_bytes).text, sum(s->present), sum(s->refused));
    for (size_t i = 0; i < s->plan.groups.count && sum(s->refused); i++)
        if (is_refused(s, i) && !was_said(s, i))
            rk_buf_add_format(&line, " (%s)", s->plan.groups.items[i].verdict.why);
    rk_term_line(rk_need_text(&line), 2);
}

static rk_err *import(importer *s) {
    RK_AUTO_STORE store = NULL;
    RK_TRY(rk_bundle_keys_read(s->settings, s->request->trust, &s->keys));
    RK_TRY(rk_place_open_store(s->settings, true, &store));
    s->machine.python_asked = s->request->python;
    s->machine.directory = s->request->directory;
    RK_TRY(rk_machine_read(s->settings, store, &s->machine));
    RK_TRY(refusal(s->request->file, validate(s, store)));
    if (s->request->is_unsigned)
        warn_unsigned(s);
    RK_TRY(bring(s));
    count(s);
    (s->request->json ? print_json : print_text)(s);
    return NULL;
}

static rk_err *check_mode(const rk_settings *settings) {
    rk_mode mode = rk_settings_get(settings)->mode;
    if (mode != RK_MODE_READONLY && mode != RK_MODE_OFF)
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "REKINDLE_MODE is %s, so nothing may be written into the store",
                    rk_mode_name(mode));
}

rk_err *rk_bundle_import(const rk_settings *settings, const rk_bundle_import_request *request) {
    rk_autobundle bundle = NULL;
    if (!request->dry_run)
        RK_TRY(check_mode(settings));
    RK_TRY(refusal(request->file, rk_bundle_open(request->file, &bundle)));
    importer s = {.request = request, .settings = settings, .bundle = bundle};
    rk_err *err = import(&s);
    importer_cleanup(&s);
    return err;
}
