// Compares the environment of an entry with this machine (cli/bundle_machine.h).
#include "cli/bundle_machine.h"
#include "cli/fail.h"
#include "cli/pack_here.h"
#include "diagnose/diff/components.h"
#include "jax/environment.h"

static const char features_name[] = "host.cpu_features";

void rk_bundle_verdict_cleanup(rk_bundle_verdict *verdict) {
    rk_free(verdict->why);
    json_decref(verdict->mismatches);
    *verdict = (rk_bundle_verdict){0};
}

// A judgement that is being made.
typedef struct judge {
    const rk_machine *machine;
    const rk_bundle_head *head;
    rk_bundle_verdict *out;
    bool blocks;           // a mismatch of something that a job cannot change
    bool other_key;        // a mismatch of something that is part of the key
    bool is_known;         // what this machine has is known
    rk_pack_family family; // of the pack, if it is one
    rk_pack_module module; // of the pack
    bool is_accelerated;   // the pack was made with a plugin for GPUs or TPUs
} judge;

static void add(judge *j, const char *what, const char *bundle, const char *here, bool blocks) {
    json_t *one = rk_out_object();
    rk_out_set(one, "what", rk_out_string(what));
    rk_out_set(one, "bundle", rk_out_nullable(bundle));
    rk_out_set(one, "here", rk_out_nullable(here));
    rk_out_set(one, "blocks", rk_out_bool(blocks));
    rk_out_append(j->out->mismatches, one);
    j->blocks |= blocks;
}

static bool is_digest_of(const char *digest, rk_span text) {
    rk_digest its;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_of(text, &its);
    rk_digest_to_hex(&its, hex);
    return digest && strcmp(digest, hex) == 0;
}

static bool has_word(rk_span list, rk_span word) {
    for (size_t start = 0, i = 0; i <= list.len; i++) {
        if (i < list.len && list.data[i] != ' ')
            continue;
        if (rk_span_equal(rk_span_of(list.data + start, i - start), word))
            return true;
        start = i + 1;
    }
    return false;
}

// Appends the words of `list` that `other` lacks.
static void add_missing(rk_span list, rk_span other, rk_buf *out) {
    for (size_t start = 0, i = 0; i <= list.len; i++) {
        if (i < list.len && list.data[i] != ' ')
            continue;
        rk_span word = rk_span_of(list.data + start, i - start);
        if (word.len && !has_word(other, word)) {
            rk_buf_add_text(out, out->len ? " " : "");
            rk_buf_add_span(out, word);
        }
        start = i + 1;
    }
}

static rk_span made_with(const rk_bundle_head *head, const char *name) {
    for (size_t i = 0; i < head->made_with.count; i++)
        if (rk_span_is(head->made_with.items[i].name, name))
            return head->made_with.items[i].value;
    return (rk_span){0};
}

// Names the features that only one side has, if the header has those of the bundle in full.
static bool add_features(judge *j, const rk_difference *d, bool blocks) {
    rk_span theirs = made_with(j->head, features_name);
    rk_span ours = rk_span_text(j->machine->features ? j->machine->features : "");
    RK_AUTO(rk_buf) only_theirs = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) only_ours = RK_BUF_INIT(0);
    if (strcmp(d->attribute, features_name) != 0 || !theirs.len ||
        !is_digest_of(d->before, theirs) || !is_digest_of(d->after, ours))
        return false;
    add_missing(theirs, ours, &only_theirs);
    add_missing(ours, theirs, &only_ours);
    add(j, features_name, rk_need_text(&only_theirs), rk_need_text(&only_ours), blocks);
    return true;
}

// A job can change its flags and variables, and the number of CPUs that it may use.
static bool is_fixed(const rk_difference *d) {
    return (d->kind == RK_DIFFERENCE_VERSION || d->kind == RK_DIFFERENCE_TOPOLOGY) &&
           strcmp(d->attribute, "host.cpus") != 0;
}

static void add_differences(judge *j, const rk_differences *list, bool part_of_key) {
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        j->other_key |= part_of_key;
        if (!part_of_key || !add_features(j, d, true))
            add(j, d->attribute, d->before, d->after, part_of_key && is_fixed(d));
    }
}

// The components whose names begin with `start`. Owned.
static json_t *of(const json_t *list, const char *start) {
    json_t *kept = rk_out_array(), *one;
    size_t index;
    json_array_foreach(list, index, one) {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strncmp(name, start, strlen(start)) == 0)
            rk_out_append(kept, json_incref(one));
    }
    return kept;
}

static rk_err *compare_known(judge *j, const json_t *environment, const char *hex) {
    __attribute__((cleanup(rk_differences_cleanup))) rk_differences list = {0};
    if (strcmp(hex, j->machine->environment) == 0)
        return NULL;
    RK_TRY(rk_diff_components(environment, j->machine->components, &list));
    add_differences(j, &list, true);
    if (list.count == 0)
        add(j, "environment", hex, j->machine->environment, true);
    j->other_key = true;
    return NULL;
}

// Without a run, only the CPU of this machine is known; an entry may not depend on it.
static rk_err *compare_cpu(judge *j, const json_t *environment) {
    __attribute__((cleanup(rk_differences_cleanup))) rk_differences list = {0};
    json_t *theirs = of(environment, "host.");
    rk_err *err =
        json_array_size(theirs) ? rk_diff_components(theirs, j->machine->components, &list) : NULL;
    json_decref(theirs);
    if (!err)
        add_differences(j, &list, true);
    return err;
}

// A machine without a GPU may prepare a store for one with a GPU. The number of threads is that of
// the job, and not of this command.
static bool is_not_known(const judge *j, const rk_difference *d) {
    static const char *const threads[] = {"host.cpus", "OMP_NUM_THREADS", "MKL_NUM_THREADS"};
    for (size_t i = 0; i < RK_ARRAY_LEN(threads); i++)
        if (strcmp(d->attribute, threads[i]) == 0)
            return true;
    if (strcmp(d->attribute, RK_JAX_DIRECTORY) == 0)
        return !rk_pack_here_knows_path(j->machine->directory);
    return strcmp(d->attribute, "gpu") == 0 && !d->after;
}

// True for a list with a plugin for GPUs or TPUs.
static bool has_accelerator(const json_t *list) {
    static const char *const plugins[] = {"jax_cuda", "jax_rocm", "libtpu"};
    bool has = false;
    for (size_t i = 0; i < RK_ARRAY_LEN(plugins); i++) {
        json_t *found = of(list, plugins[i]);
        has |= json_array_size(found) > 0;
        json_decref(found);
    }
    return has;
}

static bool is_side(const rk_difference *d, const char *value) {
    return (d->before && strcmp(d->before, value) == 0) ||
           (d->after && strcmp(d->after, value) == 0);
}

// True for a difference with which files of JAX do harm, or are of no use to any job. JAX's keys
// have the versions of jaxlib and its plugins, and the devices: functions of other ones are never
// used, and do no harm. What the keys lack:
// - the features of the CPU, in part: code for another CPU can kill a job. With a plugin for GPUs
//   or TPUs, most functions have no code for the CPU;
// - whether a file is of zlib or of Python's zstd: JAX cannot read the other one, at each start,
//   and does not replace it;
// - for results of autotuning, the version of XLA: with those of another one, a compilation can
//   fail.
static bool blocks_jax(const judge *j, const rk_difference *d) {
    if (strcmp(d->attribute, features_name) == 0)
        return !j->is_accelerated;
    if (strcmp(d->attribute, "jax.compression") == 0)
        return j->module == RK_PACK_JAX && !is_side(d, "zstandard");
    if (d->kind == RK_DIFFERENCE_VERSION)
        return j->module == RK_PACK_AUTOTUNE;
    return strcmp(d->attribute, "host.machine") == 0;
}

static void add_pack_differences(judge *j, const rk_differences *list) {
    for (size_t i = 0; i < list->count; i++) {
        const rk_difference *d = &list->items[i];
        bool known = !is_not_known(j, d);
        // torch.compile's keys lack most of what they depend on.
        bool blocks = j->family == RK_FAMILY_JAX ? blocks_jax(j, d) : is_fixed(d);
        j->is_known &= known;
        j->other_key |= known;
        if (!known && strcmp(d->attribute, RK_JAX_DIRECTORY) == 0)
            j->out->why_not_known = "JAX's keys have the path of its directory: --directory names "
                                    "the one of this machine";
        if (known && !add_features(j, d, blocks))
            add(j, d->attribute, d->before, d->after, blocks);
    }
}

// Without the framework, only the features of this CPU are known.
static rk_err *compare_features(judge *j, const json_t *environment) {
    __attribute__((cleanup(rk_differences_cleanup))) rk_differences list = {0};
    json_t *theirs = of(environment, features_name);
    json_t *ours = of(j->machine->components, features_name);
    rk_err *err = json_array_size(theirs) && json_array_size(ours)
                      ? rk_diff_components(theirs, ours, &list)
                      : NULL;
    json_decref(theirs);
    json_decref(ours);
    if (!err)
        add_pack_differences(j, &list);
    return err;
}

static rk_err *compare_pack(judge *j, const json_t *environment) {
    __attribute__((cleanup(rk_differences_cleanup))) rk_differences list = {0};
    const json_t *here = j->machine->packs[j->family].components;
    j->is_accelerated = has_accelerator(environment);
    if (here) {
        RK_TRY(rk_diff_components(environment, here, &list));
        add_pack_differences(j, &list);
        return NULL;
    }
    j->is_known = false;
    j->out->lacks_framework = j->machine->python_asked != NULL;
    if (j->out->lacks_framework)
        return NULL;
    j->out->why_not_known = j->family == RK_FAMILY_JAX
                                ? "no JAX was found to compare with: --python names its Python"
                                : "no torch was found to compare with: --python names its Python";
    return compare_features(j, environment);
}

static rk_err *compare_metadata(judge *j, const json_t *metadata) {
    __attribute__((cleanup(rk_differences_cleanup))) rk_differences list = {0};
    const char *rekindle = json_string_value(json_object_get(metadata, "rekindle"));
    const char *name_space = json_string_value(json_object_get(metadata, "namespace"));
    const json_t *toolchain = json_object_get(metadata, "toolchain");
    if (toolchain || !json_object_get(metadata, "pack")) // a pack has its versions in its key
        RK_TRY(rk_diff_toolchains(toolchain, j->machine->toolchain, &list));
    add_differences(j, &list, false);
    if (rekindle && strcmp(rekindle, REKINDLE_VERSION) != 0)
        add(j, "rekindle", rekindle, REKINDLE_VERSION, false);
    if (name_space && strcmp(name_space, j->machine->name_space) != 0) {
        add(j, "namespace", name_space, j->machine->name_space, false);
        j->other_key = true;
    }
    return NULL;
}

// "plugin.platform_version and host.cpu_features differ"
static char *explain(const json_t *mismatches) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    size_t count = json_array_size(mismatches);
    for (size_t i = 0; i < count; i++)
        rk_buf_add_format(
            &text, "%s%s",
            i == 0           ? ""
            : i + 1 == count ? " and "
                             : ", ",
            json_string_value(json_object_get(json_array_get(mismatches, i), "what")));
    if (count)
        rk_buf_add_text(&text, count == 1 ? " differs" : " differ");
    return rk_need(rk_strdup(rk_need_text(&text)));
}

// Says which Python was compared: another one may have the right versions.
static char *add_python(char *why, const char *framework, const char *python) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "%s (compared with the %s of %s; --python names another Python)", why,
                      framework, python);
    rk_free(why);
    return rk_need(rk_strdup(rk_need_text(&text)));
}

// Says what to do where the paths of JAX's directories differ.
static char *add_path_remedy(char *why) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(
        &text,
        "%s (JAX's keys have that path: use the same one on both machines, or "
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES=none for export, import and the jobs)",
        why);
    rk_free(why);
    return rk_need(rk_strdup(rk_need_text(&text)));
}

static bool has_mismatch(const json_t *mismatches, const char *what) {
    size_t index;
    json_t *one;
    json_array_foreach(mismatches, index, one) {
        if (strcmp(json_string_value(json_object_get(one, "what")), what) == 0)
            return true;
    }
    return false;
}

// Says with what a pack was compared, and what helps.
static void add_remedies(judge *j) {
    rk_bundle_verdict *out = j->out;
    bool path_differs = has_mismatch(out->mismatches, RK_JAX_DIRECTORY);
    size_t others = json_array_size(out->mismatches) - (path_differs ? 1 : 0);
    if (others && j->machine->packs[j->family].components)
        out->why = add_python(out->why, rk_pack_here_framework(j->family),
                              j->machine->packs[j->family].python);
    if (path_differs)
        out->why = add_path_remedy(out->why);
}

// "--python /usr/bin/python3: rekindle finds no JAX in its folders"
static char *explain_lack(const judge *j) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "--python %s: rekindle finds no %s in its folders",
                      j->machine->python_asked, rk_pack_here_framework(j->family));
    return rk_need(rk_strdup(rk_need_text(&text)));
}

static void conclude(judge *j) {
    rk_bundle_verdict *out = j->out;
    out->differs = json_array_size(out->mismatches) > 0;
    out->why = out->lacks_framework ? explain_lack(j) : explain(out->mismatches);
    if (out->is_pack && !out->lacks_framework)
        add_remedies(j);
    if (j->blocks || out->lacks_framework)
        out->use = RK_USE_NO;
    else if (j->other_key)
        out->use = RK_USE_NO_WARNING;
    else
        out->use = j->is_known ? RK_USE_YES : RK_USE_NOT_KNOWN;
}

// False if it is no pack.
static bool find_family(judge *j, const json_t *metadata) {
    const char *platform = json_string_value(json_object_get(metadata, "platform"));
    const char *module = json_string_value(json_object_get(metadata, "pack"));
    if (!module || !rk_pack_module_parse(module, &j->module))
        j->module = RK_PACK_MODULES;
    return module && platform && rk_pack_family_parse(platform, &j->family);
}

rk_err *rk_machine_judge(const rk_machine *machine, const rk_bundle_head *head,
                         const rk_entry *entry, rk_bundle_verdict *out_verdict) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    judge j = {.machine = machine, .head = head, .out = out_verdict};
    json_t *components = rk_out_parsed(entry->components);
    json_t *metadata = rk_out_parsed(entry->metadata);
    const json_t *environment = json_object_get(components, "environment");
    rk_digest_to_hex(&entry->key.environment, hex);
    out_verdict->mismatches = rk_out_array();
    out_verdict->why_not_known = "";
    bool is_pack = out_verdict->is_pack = find_family(&j, metadata);
    j.is_known = is_pack || machine->run;
    rk_err *err = is_pack        ? compare_pack(&j, environment)
                  : machine->run ? compare_known(&j, environment, hex)
                                 : compare_cpu(&j, environment);
    if (!err)
        err = compare_metadata(&j, metadata);
    json_decref(components);
    json_decref(metadata);
    if (!err)
        conclude(&j);
    return err;
}
