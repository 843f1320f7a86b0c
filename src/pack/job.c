#include "pack/job.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "store/pins.h"

enum { TRIES = 3 };
#define KNOWN_MAX_BYTES ((uint64_t)4 << 30)

void rk_pack_job_cleanup(rk_pack_job *job) {
    for (size_t i = 0; i < job->known_count; i++)
        rk_free(job->known[i].name);
    rk_free(job->known);
    rk_free(job->sources);
    *job = (rk_pack_job){0};
}

// Of two equal times the pack that was read later counts: it may have taken over the other one.
static int by_name(const void *a, const void *b) {
    const rk_pack_known *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    if (order)
        return order;
    if (left->modified_ns != right->modified_ns)
        return left->modified_ns > right->modified_ns ? -1 : 1;
    return left->source > right->source ? -1 : left->source < right->source;
}

static int compare_name(const void *name, const void *known) {
    return strcmp(name, ((const rk_pack_known *)known)->name);
}

rk_pack_known *rk_pack_job_find(const rk_pack_job *job, const char *name) {
    return job->known_count
               ? bsearch(name, job->known, job->known_count, sizeof *job->known, compare_name)
               : NULL;
}

static rk_err *add_known(rk_pack_job *s, const rk_pack_item *item, size_t source) {
    if (s->known_count == s->known_capacity) {
        size_t capacity = s->known_capacity ? 2 * s->known_capacity : 256;
        rk_pack_known *known = rk_realloc(s->known, capacity * sizeof *known);
        if (!known)
            return rk_err_no_memory();
        s->known = known;
        s->known_capacity = capacity;
    }
    char *name = rk_strndup((const char *)item->name.data, item->name.len);
    if (!name)
        return rk_err_no_memory();
    s->known[s->known_count++] = (rk_pack_known){
        .name = name,
        .bytes = item->content.len,
        .modified_ns = item->modified_ns,
        .digest = item->digest,
        .source = source,
    };
    return NULL;
}

// Keeps one version of each file: the newest.
static void settle_known(rk_pack_job *s) {
    size_t used = 0;
    if (s->known_count)
        qsort(s->known, s->known_count, sizeof *s->known, by_name);
    for (size_t i = 0; i < s->known_count; i++) {
        rk_pack_known *one = &s->known[i];
        if (used && strcmp(s->known[used - 1].name, one->name) == 0) {
            s->sources[one->source].superseded++;
            rk_free(one->name);
            continue;
        }
        s->known[used++] = *one;
    }
    s->known_count = used;
}

static bool is_source(const rk_pack_job *s, const rk_key *key) {
    for (size_t i = 0; i < s->source_count; i++)
        if (rk_key_equal(&s->sources[i].pack.key, key))
            return true;
    return false;
}

static rk_err *add_source(rk_pack_job *s, const rk_pack *pack, const rk_pins *pins) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_pack_source *sources = rk_realloc(s->sources, (s->source_count + 1) * sizeof *s->sources);
    if (!sources)
        return rk_err_no_memory();
    s->sources = sources;
    rk_digest_to_hex(&pack->key.digest, hex);
    sources[s->source_count++] =
        (rk_pack_source){.pack = *pack, .is_pinned = rk_pins_has(pins, hex)};
    return NULL;
}

// Reads one pack. `*out_gone`: it was removed, perhaps because a newer one took over its files.
static rk_err *learn_pack(rk_pack_job *s, const rk_pack *pack, const rk_pins *pins,
                          bool *out_gone) {
    RK_AUTO(rk_pack_view) view = {0};
    RK_TRY(rk_pack_read(&s->place, pack, &view));
    s->damaged += view.is_damaged;
    *out_gone |= !view.found && !view.is_damaged;
    if (!view.found)
        return NULL;
    RK_TRY(add_source(s, pack, pins));
    rk_pack_source *source = &s->sources[s->source_count - 1];
    source->count = view.count;
    for (size_t i = 0; i < view.count; i++) {
        source->bytes += view.items[i].content.len;
        RK_TRY(add_known(s, &view.items[i], s->source_count - 1));
    }
    s->known_bytes += source->bytes;
    return NULL;
}

static rk_err *learn_listed(rk_pack_job *s, const rk_pins *pins, bool *out_gone) {
    RK_AUTO(rk_pack_list) packs = {0};
    *out_gone = false;
    RK_TRY(rk_pack_list_read(&s->place, &packs));
    for (size_t i = 0; i < packs.count && s->known_bytes < KNOWN_MAX_BYTES; i++)
        if (!is_source(s, &packs.items[i].key))
            RK_TRY(learn_pack(s, &packs.items[i], pins, out_gone));
    return NULL;
}

rk_err *rk_pack_job_learn(rk_pack_job *job) {
    __attribute__((cleanup(rk_pins_cleanup))) rk_pins pins = {0};
    RK_TRY(rk_pins_load(job->place.store, &pins));
    bool gone = true; // once more if another start has just replaced packs
    rk_err *err = NULL;
    for (int i = 0; i < TRIES && gone && !err; i++)
        err = learn_listed(job, &pins, &gone);
    settle_known(job);
    return err;
}

rk_err *rk_pack_job_list_outdated(rk_pack_job *job) {
    __attribute__((cleanup(rk_pins_cleanup))) rk_pins pins = {0};
    RK_AUTO(rk_pack_list) packs = {0};
    RK_TRY(rk_pins_load(job->place.store, &pins));
    RK_TRY(rk_pack_list_read(&job->place, &packs));
    for (size_t i = 0; i < packs.count; i++) {
        RK_TRY(add_source(job, &packs.items[i], &pins));
        job->sources[job->source_count - 1].is_outdated = true;
    }
    return NULL;
}

void rk_pack_job_forget_outdated(rk_pack_job *job) {
    size_t used = 0;
    for (size_t i = 0; i < job->source_count; i++)
        if (!job->sources[i].is_outdated)
            job->sources[used++] = job->sources[i];
    job->source_count = used;
}
