#include "cli/bundle_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/fd.h"
#include "base/sys.h"
#include "base/utf8.h"
#include "bundle/writer.h"
#include "cli/bundle_directory.h"
#include "cli/bundle_keys.h"
#include "cli/bundle_made_with.h"
#include "cli/bundle_part.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/term.h"
#include "cli/text.h"
#include "pack/module.h"
#include "store/store_file.h"

enum { ITEM_NAME_MAX_BYTES = 1024 };

// One export.
typedef struct packer {
    rk_store *store;
    rk_bundle_selection selection;
    rk_bundle_writer *writer; // owned
    size_t items[RK_PART_KINDS];
    size_t module_items;            // of the module that is written
    uint64_t bytes;                 // of its items
    json_t *modules;                // owned; name, items and bytes of each module
    uint64_t done_bytes, all_bytes; // of the entries: read so far, and all
    rk_progress *progress;
    json_t *packed; // owned; the set of keys whose executables are packed
    json_t *left;   // owned; what was left out, and why
} packer;

static void packer_cleanup(packer *p) {
    rk_bundle_selection_cleanup(&p->selection);
    rk_bundle_writer_free(p->writer);
    json_decref(p->packed);
    json_decref(p->left);
    json_decref(p->modules);
}

static void leave_out(packer *p, const char *name, const char *why) {
    json_t *one = rk_out_object();
    rk_out_set(one, "name", rk_out_string(name));
    rk_out_set(one, "why", rk_out_string(why));
    rk_out_append(p->left, one);
}

static rk_err *add_manifest(packer *p, const rk_bundle_part *part, rk_span content) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    rk_bundle_part_add_name(part, &name);
    const rk_bundle_new_item item = {.name = rk_span_text(rk_need_text(&name))};
    RK_TRY(rk_bundle_writer_add(p->writer, &item, content));
    p->items[part->kind]++;
    p->module_items++;
    p->bytes += content.len;
    return NULL;
}

// A program's name, cut to the limit at the end of a character.
static rk_span name_of(const json_t *metadata) {
    const char *name = json_string_value(json_object_get(metadata, "name"));
    rk_span text = rk_span_text(name ? name : ""), whole = text;
    size_t len = 0;
    if (text.len <= ITEM_NAME_MAX_BYTES)
        return text;
    for (size_t step; (step = rk_utf8_len(whole)) != 0 && len + step <= ITEM_NAME_MAX_BYTES;) {
        len += step;
        whole = rk_span_of(whole.data + step, whole.len - step);
    }
    return rk_span_of(text.data, len);
}

// An entry that is packed. It is checked while it is written into the bundle.
typedef struct packing {
    rk_bundle_part part;
    rk_buf name; // of the item
    uint64_t bytes;
    rk_entry_stream stream;
    rk_entry_fault fault;
    char environment[RK_DIGEST_HEX_CHARS + 1], seconds[32], size[32], files[32];
    json_t *metadata; // owned
    rk_bundle_pair pairs[7];
    size_t pair_count;
} packing;

static void packing_free(packing *self) {
    if (!self)
        return;
    rk_entry_stream_cleanup(&self->stream);
    rk_buf_cleanup(&self->name);
    json_decref(self->metadata);
    rk_free(self);
}

// The entries of one kind.
typedef struct packings {
    packer *p;
    rk_bundle_part_kind kind;
    uint8_t pack;    // of packs: the module, as in rk_kept
    packing **items; // owned; by entry of the selection, while it is packed
    packing *last;   // owned; the writer borrows from it
} packings;

static void describe_pack(packing *self) {
    const char *job = json_string_value(json_object_get(self->metadata, "job"));
    json_int_t files = json_integer_value(json_object_get(self->metadata, "items"));
    (void)snprintf(self->files, sizeof self->files, "%lld", (long long)files);
    self->pairs[self->pair_count++] =
        (rk_bundle_pair){rk_span_text("items"), rk_span_text(self->files)};
    self->pairs[self->pair_count++] =
        (rk_bundle_pair){rk_span_text("job"), rk_span_text(job ? job : "")};
}

static void describe(packing *self, const rk_entry_view *view) {
    const rk_entry *entry = &view->entry;
    self->metadata = rk_out_parsed(entry->metadata);
    const char *name_space = json_string_value(json_object_get(self->metadata, "namespace"));
    rk_digest_to_hex(&entry->key.environment, self->environment);
    (void)snprintf(self->seconds, sizeof self->seconds, "%.6f", (double)entry->compile_ns / 1e9);
    (void)snprintf(self->size, sizeof self->size, "%" PRIu64, view->payload_raw_bytes);
    const rk_bundle_pair pairs[] = {
        {rk_span_text("compile_seconds"), rk_span_text(self->seconds)},
        {rk_span_text("environment"), rk_span_text(self->environment)},
        {rk_span_text("name"), name_of(self->metadata)},
        {rk_span_text("namespace"), rk_span_text(name_space ? name_space : "")},
        {rk_span_text("size"), rk_span_text(self->size)},
    };
    memcpy(self->pairs, pairs, sizeof pairs);
    self->pair_count = RK_ARRAY_LEN(pairs);
    if (self->part.kind == RK_PART_PACK)
        describe_pack(self);
}

// True if an entry cannot be opened although nothing is wrong with the store.
static bool is_left_out(packer *p, const packing *one, rk_err *err) {
    bool is_gone = rk_err_code(err) == RK_NOT_FOUND;
    if (!is_gone && rk_err_code(err) != RK_OUT_OF_RANGE && rk_err_errno(err) != ELOOP &&
        rk_err_errno(err) != ENXIO)
        return false;
    leave_out(p, rk_buf_text(&one->name),
              is_gone ? "removed by another process" : rk_entry_fault_text(RK_ENTRY_NOT_AN_ENTRY));
    rk_err_drop(err, "it is reported");
    return true;
}

static bool is_of(const rk_kept *kept, rk_bundle_part_kind kind, uint8_t pack) {
    if (kind == RK_PART_PROGRAM)
        return kept->has_program;
    return kept->has_executable && kept->pack == pack;
}

static rk_err *open_entry(void *context, size_t index, int *out_fd, uint64_t *out_len,
                          rk_bundle_watcher *out_watcher) {
    packings *self = context;
    const rk_kept *kept = &self->p->selection.entries.items[index];
    if (!is_of(kept, self->kind, self->pack))
        return NULL;
    packing *one = self->items[index] = rk_need(rk_calloc(1, sizeof *one));
    one->part.kind = self->kind;
    memcpy(one->part.hex, kept->hex, sizeof one->part.hex);
    rk_bundle_part_add_name(&one->part, &one->name);
    (void)rk_need_text(&one->name);
    rk_err *err = rk_store_open_file(self->p->store, rk_bundle_part_entry_kind(self->kind),
                                     kept->hex, out_fd, &one->bytes);
    if (err)
        return is_left_out(self->p, one, err) ? NULL : err;
    rk_entry_stream_begin(one->bytes, true, &one->stream);
    *out_len = one->bytes;
    *out_watcher = (rk_bundle_watcher){
        .context = &one->stream, .add = rk_entry_stream_add, .tap = rk_entry_stream_tap};
    return NULL;
}

static void show_step(void *context, size_t bytes) {
    enum { MEGABYTE = 1000000 };
    packer *p = ((packings *)context)->p;
    p->done_bytes += bytes;
    rk_progress_step(p->progress, p->done_bytes / MEGABYTE, p->all_bytes / MEGABYTE);
}

static rk_err *judge_entry(void *context, size_t index) {
    packing *one = ((packings *)context)->items[index];
    RK_AUTO(rk_entry_view) view = {0};
    RK_TRY(rk_entry_stream_end(&one->stream, &view, &one->fault));
    if (!one->fault)
        one->fault =
            rk_store_match(&view.entry, rk_bundle_part_entry_kind(one->part.kind), one->part.hex);
    if (!one->fault)
        describe(one, &view);
    rk_entry_stream_cleanup(&one->stream);
    return NULL;
}

// Keeps the entry in the bundle if it is sound.
static rk_err *end_entry(void *context, size_t index, rk_bundle_new_item *out_item,
                         bool *out_keep) {
    packings *self = context;
    packing *one = RK_TAKE(self->items[index]);
    packing_free(self->last);
    self->last = one;
    *out_keep = one->fault == RK_ENTRY_OK;
    if (!*out_keep) {
        leave_out(self->p, rk_buf_text(&one->name), rk_entry_fault_text(one->fault));
        return NULL;
    }
    *out_item = (rk_bundle_new_item){.name = rk_buf_span(&one->name),
                                     .attributes = {one->pairs, one->pair_count}};
    if (self->kind == RK_PART_EXECUTABLE)
        rk_out_set(self->p->packed, one->part.hex, rk_out_bool(true));
    self->p->items[self->kind]++;
    self->p->module_items++;
    self->p->bytes += one->bytes;
    return NULL;
}

static uint64_t bytes_of(const packer *p, rk_bundle_part_kind kind, uint8_t pack) {
    const rk_kept_list *list = &p->selection.entries;
    uint64_t bytes = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_of(&list->items[i], kind, pack))
            bytes += kind == RK_PART_PROGRAM ? list->items[i].program_bytes
                                             : list->items[i].executable_bytes;
    return bytes;
}

static rk_err *pack_kind(packer *p, rk_bundle_part_kind kind, uint8_t pack) {
    packings self = {.p = p, .kind = kind, .pack = pack};
    size_t count = p->selection.entries.count;
    self.items = rk_need(rk_calloc(count + 1, sizeof(packing *)));
    const rk_bundle_files files = {
        .context = &self,
        .count = count,
        .all_bytes = bytes_of(p, kind, pack),
        .open = open_entry,
        .step = show_step,
        .judge = judge_entry,
        .end = end_entry,
    };
    rk_err *err = rk_bundle_writer_add_files(p->writer, &files);
    for (size_t i = 0; i < count; i++)
        packing_free(self.items[i]);
    packing_free(self.last);
    rk_free(self.items);
    return err;
}

// Names in a bundle differ in more than upper and lower case.
static bool is_taken(const packer *p, size_t index) {
    const rk_bundle_manifest *list = p->selection.manifests;
    for (size_t i = 0; i < index; i++)
        if (strcasecmp(list[i].job, list[index].job) == 0 &&
            strcmp(list[i].job, list[index].job) != 0)
            return true;
    return false;
}

// Packs a manifest without the uses whose executables are not packed.
static rk_err *pack_manifest(packer *p, size_t index) {
    const rk_bundle_manifest *which = &p->selection.manifests[index];
    RK_AUTO(rk_manifest) all = {0};
    RK_AUTO(rk_manifest) kept = {0};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES + 1);
    rk_bundle_part part = {.kind = RK_PART_MANIFEST, .rank = which->rank};
    (void)snprintf(part.job, sizeof part.job, "%s", which->job);
    if (is_taken(p, index)) {
        leave_out(p, which->job, "another job has the same name but for upper and lower case");
        return NULL;
    }
    RK_TRY(rk_manifest_read(p->store, which->job, which->rank, &all));
    memcpy(kept.runs, all.runs, sizeof kept.runs);
    kept.run_count = all.run_count;
    for (size_t i = 0; i < all.use_count; i++) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        const rk_manifest_use *use = &all.uses[i];
        rk_digest_to_hex(&use->key.digest, hex);
        if (json_object_get(p->packed, hex))
            RK_TRY(rk_manifest_note(&kept, use, rk_manifest_find_options(&all, &use->key.options)));
    }
    if (kept.use_count == 0)
        return NULL;
    RK_TRY(rk_manifest_encode(&kept, &text));
    return add_manifest(p, &part, rk_buf_span(&text));
}

static void end_module(packer *p, const char *name) {
    json_t *module = rk_out_object();
    rk_out_set(module, "name", rk_out_string(name));
    rk_out_set(module, "items", rk_out_uint(p->module_items));
    rk_out_set(module, "bytes", rk_out_uint(p->bytes));
    rk_out_append(p->modules, module);
    p->module_items = 0;
    p->bytes = 0;
}

static rk_err *pack_pjrt(packer *p) {
    if (bytes_of(p, RK_PART_EXECUTABLE, 0) + bytes_of(p, RK_PART_PROGRAM, 0) == 0 &&
        p->selection.manifest_count == 0)
        return NULL;
    RK_TRY(rk_bundle_writer_begin_module(p->writer, RK_BUNDLE_PJRT, NULL));
    RK_TRY(pack_kind(p, RK_PART_EXECUTABLE, 0));
    RK_TRY(pack_kind(p, RK_PART_PROGRAM, 0));
    for (size_t i = 0; i < p->selection.manifest_count; i++)
        RK_TRY(pack_manifest(p, i));
    end_module(p, RK_BUNDLE_PJRT);
    return NULL;
}

static rk_err *pack_packs(packer *p, rk_pack_module module) {
    uint8_t pack = (uint8_t)(module + 1);
    const char *name = rk_pack_module_name(module);
    if (bytes_of(p, RK_PART_PACK, pack) == 0)
        return NULL;
    RK_TRY(rk_bundle_writer_begin_module(p->writer, name, NULL));
    RK_TRY(pack_kind(p, RK_PART_PACK, pack));
    end_module(p, name);
    return NULL;
}

static rk_err *pack_all(packer *p) {
    RK_TRY(pack_pjrt(p));
    for (size_t i = 0; i < RK_PACK_MODULES; i++)
        RK_TRY(pack_packs(p, (rk_pack_module)i));
    return NULL;
}

static rk_err *pack_modules(packer *p) {
    rk_progress progress = rk_progress_start("packing (MB)");
    p->all_bytes = bytes_of(p, RK_PART_EXECUTABLE, 0) + bytes_of(p, RK_PART_PROGRAM, 0);
    for (size_t i = 0; i < RK_PACK_MODULES; i++)
        p->all_bytes += bytes_of(p, RK_PART_PACK, (uint8_t)(i + 1));
    p->progress = &progress;
    rk_err *err = pack_all(p);
    rk_progress_end(&progress);
    RK_TRY(err);
    if (p->items[RK_PART_EXECUTABLE] + p->items[RK_PART_PROGRAM] + p->items[RK_PART_PACK] == 0)
        return rk_error(RK_DATA_LOSS, "there is nothing to export: all entries are damaged "
                                      "(`rekindle fsck` lists them)");
    return NULL;
}

static rk_err *begin(packer *p, const char *output) {
    __attribute__((cleanup(rk_bundle_facts_cleanup))) rk_bundle_facts made_with = {0}, notes = {0};
    RK_TRY(rk_bundle_made_with(p->store, &p->selection, &made_with));
    notes.object = rk_out_object();
    if (p->selection.job && p->selection.job[0])
        rk_out_set(notes.object, "job", rk_out_string(p->selection.job));
    if (p->selection.newest_run)
        rk_out_set(notes.object, "run", rk_out_string(p->selection.newest_run));
    rk_bundle_facts_pair(&notes);
    const rk_bundle_head head = {
        .created_ns = rk_realtime_ns(),
        .made_with = {made_with.pairs, made_with.count},
        .annotations = {notes.pairs, notes.count},
    };
    return rk_bundle_writer_begin(output, 0600, &head, &p->writer);
}

static void print_json(const packer *p, const rk_bundle_export_request *request,
                       const rk_signing_key *key) {
    json_t *object = rk_out_object();
    char id[RK_KEY_ID_HEX_CHARS + 1];
    RK_AUTO(rk_buf) hex = RK_BUF_INIT(0);
    rk_key_id(&key->public_key.key, id);
    rk_buf_add_hex(&hex, rk_span_of(key->public_key.key.bytes, sizeof key->public_key.key.bytes));
    rk_out_set(object, "file", rk_out_string(request->output));
    rk_out_set(object, "bytes", rk_out_uint(rk_bundle_writer_file_bytes(p->writer)));
    rk_out_set(object, "job", rk_out_string(p->selection.job));
    rk_out_set(object, "run", rk_out_string(p->selection.run));
    rk_out_set(object, "executables", rk_out_uint(p->items[RK_PART_EXECUTABLE]));
    rk_out_set(object, "programs", rk_out_uint(p->items[RK_PART_PROGRAM]));
    rk_out_set(object, "manifests", rk_out_uint(p->items[RK_PART_MANIFEST]));
    rk_out_set(object, "packs", rk_out_uint(p->items[RK_PART_PACK]));
    rk_out_set(object, "modules", json_incref(p->modules));
    rk_out_set(object, "signed_by", rk_out_string(id));
    rk_out_set(object, "public_key", rk_out_string(rk_need_text(&hex)));
    rk_out_set(object, "absent", rk_out_uint(p->selection.absent));
    rk_out_set(object, "left_out", json_incref(p->left));
    rk_out_print(object);
}

static void print_left_out(const packer *p) {
    size_t index;
    json_t *one;
    json_array_foreach(p->left, index, one) {
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        rk_buf_add_text(&line, "left out: ");
        rk_text_add_printable(&line, rk_span_text(json_string_value(json_object_get(one, "name"))));
        rk_buf_add_format(&line, ": %s", json_string_value(json_object_get(one, "why")));
        rk_term_line(rk_need_text(&line), 2);
    }
    if (p->selection.absent)
        (void)printf("%zu program%s of the job %s not in the store\n", p->selection.absent,
                     rk_text_plural(p->selection.absent), p->selection.absent == 1 ? "is" : "are");
}

static void print_hex(const rk_sign_public *key) {
    for (size_t i = 0; i < sizeof key->bytes; i++)
        (void)printf("%02x", key->bytes[i]);
}

static void print_text(const packer *p, const rk_bundle_export_request *request,
                       const rk_signing_key *key) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    char id[RK_KEY_ID_HEX_CHARS + 1];
    rk_key_id(&key->public_key.key, id);
    rk_buf_add_text(&line, "wrote ");
    rk_text_add_printable(&line, rk_span_text(request->output));
    rk_buf_add_format(&line, ": %s;", rk_text_bytes(rk_bundle_writer_file_bytes(p->writer)).text);
    rk_bundle_part_add_counts(p->items, &line);
    rk_buf_add_format(&line, "; signed by %s", id);
    rk_term_line(rk_need_text(&line), 2);
    print_left_out(p);
    // Two lines that can be pasted: the key alone has 64 digits.
    const char *slash = strrchr(request->output, '/');
    rk_buf_clear(&line);
    rk_text_add_word(&line, slash ? slash + 1 : request->output);
    (void)printf("on another machine, in the folder of the file:\n  rekindle bundle import %s \\\n "
                 "   --trust ",
                 rk_need_text(&line));
    print_hex(&key->public_key.key);
    (void)puts("");
}

static rk_err *pack(packer *p, const rk_settings *settings,
                    const rk_bundle_export_request *request) {
    RK_AUTO(rk_signing_key) key = {0};
    RK_TRY(rk_bundle_select(p->store, &request->wish, &p->selection));
    RK_TRY(rk_bundle_signing_key(settings, &key));
    RK_TRY(begin(p, request->output));
    RK_TRY(pack_modules(p));
    RK_TRY(rk_bundle_writer_finish(p->writer, &key.secret, &key.public_key.key));
    (request->json ? print_json : print_text)(p, request, &key);
    return NULL;
}

static void note_too_large(packer *p, const char *directory, size_t count) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    if (count == 0)
        return;
    rk_buf_add_format(&name, "%zu file%s of %s", count, rk_text_plural(count), directory);
    leave_out(p, rk_need_text(&name), "larger than a pack may be");
}

rk_err *rk_bundle_export(const rk_settings *settings, const rk_bundle_export_request *request) {
    RK_AUTO_STORE store = NULL;
    rk_bundle_export_request all = *request;
    rk_bundle_directory_stored stored = {0};
    if (request->directory) {
        RK_TRY(rk_bundle_directory_store(settings, request->directory, request->wish.modules,
                                         request->wish.job, request->python, &stored));
        all.wish.job = stored.job;
        all.wish.environments = stored.environments;
        all.wish.environment_count = stored.environment_count;
    }
    RK_TRY(rk_place_open_store(settings, true, &store));
    if (!store)
        return rk_error(RK_NOT_FOUND, "there is nothing to export: %s does not exist",
                        rk_settings_get(settings)->dir);
    packer p = {.store = store,
                .packed = rk_out_object(),
                .left = rk_out_array(),
                .modules = rk_out_array()};
    note_too_large(&p, request->directory, stored.too_large);
    rk_err *err = pack(&p, settings, &all);
    packer_cleanup(&p);
    return err;
}
