#include "diagnose/explain/corpus.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "program/read.h"

static void known_cleanup(rk_known *known) {
    rk_free(known->run);
    rk_free(known->job);
    rk_free(known->name);
    rk_free(known->format);
    rk_sketch_cleanup(&known->sketch);
}

void rk_corpus_cleanup(rk_corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++)
        known_cleanup(&corpus->items[i]);
    rk_free(corpus->items);
    *corpus = (rk_corpus){0};
}

static rk_err *copy_member(const json_t *object, const char *name, char **out_text) {
    const char *text = json_string_value(json_object_get(object, name));
    *out_text = rk_strdup(text ? text : "");
    return *out_text ? NULL : rk_err_no_memory();
}

static rk_err *fill_metadata(const json_t *metadata, rk_known *known) {
    RK_TRY(copy_member(metadata, "run", &known->run));
    RK_TRY(copy_member(metadata, "job", &known->job));
    RK_TRY(copy_member(metadata, "name", &known->name));
    RK_TRY(copy_member(metadata, "format", &known->format));
    const json_t *sketch = json_object_get(metadata, "sketch");
    return sketch ? rk_sketch_read(sketch, &known->sketch, &known->has_sketch) : NULL;
}

// Makes the sketch of an entry that has none: an older rekindle wrote it, or the program was too
// large.
static rk_err *make_sketch(const rk_corpus *corpus, rk_known *known) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_err *err =
        rk_store_read(corpus->store, RK_ENTRY_PROGRAM, known->hex, RK_WANT_PAYLOAD, &lookup);
    if (err || !lookup.found || !lookup.view.entry.payload.len) {
        rk_err_drop(err, "the program has no sketch and is not compared");
        return NULL;
    }
    return rk_sketch_of_program(lookup.view.entry.payload, rk_span_text(known->format),
                                &known->sketch, &known->has_sketch);
}

static rk_err *add(rk_corpus *corpus, const char *hex, const rk_entry *entry) {
    if (corpus->count == corpus->capacity) {
        size_t capacity = corpus->capacity ? 2 * corpus->capacity : 256;
        rk_known *items = rk_realloc(corpus->items, capacity * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        corpus->items = items;
        corpus->capacity = capacity;
    }
    rk_known *known = &corpus->items[corpus->count++];
    *known = (rk_known){.key = entry->key, .created_ns = entry->created_ns};
    memcpy(known->hex, hex, sizeof known->hex);
    json_t *metadata = json_loadb((const char *)entry->metadata.data, entry->metadata.len, 0, NULL);
    rk_err *err = fill_metadata(metadata, known);
    json_decref(metadata);
    return err || known->has_sketch ? err : make_sketch(corpus, known);
}

typedef struct loading {
    rk_corpus *corpus;
    rk_corpus_watch watch;
} loading;

static rk_err *visit(void *context, const rk_store_item *item) {
    loading *self = context;
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_err *err =
        rk_store_read(self->corpus->store, RK_ENTRY_PROGRAM, item->hex, RK_WANT_HEAD, &lookup);
    if (err || !lookup.found) {
        rk_err_drop(err, "the program is not compared");
        self->corpus->damaged++;
        return NULL;
    }
    if (self->watch.step && self->corpus->count % 64 == 0)
        self->watch.step(self->watch.context, self->corpus->count);
    return add(self->corpus, item->hex, &lookup.view.entry);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const rk_known *)a)->hex, ((const rk_known *)b)->hex);
}

rk_err *rk_corpus_load(rk_store *store, rk_corpus_watch watch, rk_corpus *out_corpus) {
    *out_corpus = (rk_corpus){.store = store};
    loading self = {out_corpus, watch};
    RK_TRY(rk_store_each(store, RK_ENTRY_PROGRAM, visit, &self));
    if (out_corpus->count)
        qsort(out_corpus->items, out_corpus->count, sizeof *out_corpus->items, by_key);
    return NULL;
}

const rk_known *rk_corpus_find(const rk_corpus *corpus, const char *hex) {
    size_t low = 0, high = corpus->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(corpus->items[middle].hex, hex);
        if (order == 0)
            return &corpus->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void rk_loaded_cleanup(rk_loaded *loaded) {
    rk_program_index_cleanup(&loaded->index);
    rk_model_free(loaded->model);
    json_decref(loaded->components);
    json_decref(loaded->toolchain);
    rk_store_lookup_cleanup(&loaded->lookup);
    *loaded = (rk_loaded){0};
}

rk_err *rk_corpus_open(const rk_corpus *corpus, const rk_known *known, rk_loaded *out_loaded) {
    *out_loaded = (rk_loaded){0};
    rk_err *err = rk_store_read(corpus->store, RK_ENTRY_PROGRAM, known->hex, RK_WANT_PAYLOAD,
                                &out_loaded->lookup);
    if (err || !out_loaded->lookup.found) {
        rk_err_drop(err, "the explanation uses the sketch");
        return NULL;
    }
    const rk_entry *entry = &out_loaded->lookup.view.entry;
    out_loaded->components =
        json_loadb((const char *)entry->components.data, entry->components.len, 0, NULL);
    json_t *metadata = json_loadb((const char *)entry->metadata.data, entry->metadata.len, 0, NULL);
    out_loaded->toolchain = json_incref(json_object_get(metadata, "toolchain"));
    json_decref(metadata);
    if (!entry->payload.len)
        return NULL;
    rk_autofree char *reason = NULL;
    RK_TRY(rk_model_read(entry->payload, rk_span_text(known->format), RK_READ_LOCATIONS,
                         &out_loaded->model, &reason));
    if (!out_loaded->model)
        return NULL;
    RK_TRY(rk_program_index_make(out_loaded->model, &out_loaded->index));
    out_loaded->loaded = true;
    return NULL;
}
