#include <stdlib.h>

#include "base/alloc.h"
#include "journal/read.h"
#include "journal/read_event.h"

// An open hash table of digests: they are hashes already.
struct rk_run_program_set {
    rk_digest *slots; // owned
    bool *used;       // owned
    size_t capacity;  // a power of two
    size_t count;
};

static size_t find_slot(const struct rk_run_program_set *set, const rk_digest *digest) {
    size_t at = (size_t)rk_load_u64le(digest->bytes) & (set->capacity - 1);
    while (set->used[at] && !rk_digest_equal(&set->slots[at], digest))
        at = (at + 1) & (set->capacity - 1);
    return at;
}

static void set_free(struct rk_run_program_set *set) {
    if (!set)
        return;
    rk_free(set->slots);
    rk_free(set->used);
    rk_free(set);
}

static rk_err *set_enlarge(struct rk_run_program_set *set) {
    enum { FIRST_CAPACITY = 64 };
    struct rk_run_program_set larger = {
        .capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY,
        .count = set->count,
    };
    larger.slots = rk_calloc(larger.capacity, sizeof *larger.slots);
    larger.used = rk_calloc(larger.capacity, sizeof *larger.used);
    if (!larger.slots || !larger.used) {
        rk_free(larger.slots);
        rk_free(larger.used);
        return rk_err_no_memory();
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (!set->used[i])
            continue;
        size_t at = find_slot(&larger, &set->slots[i]);
        larger.slots[at] = set->slots[i];
        larger.used[at] = true;
    }
    rk_free(set->slots);
    rk_free(set->used);
    *set = larger;
    return NULL;
}

static rk_err *set_add(struct rk_run_program_set *set, const rk_digest *digest) {
    if (2 * (set->count + 1) > set->capacity)
        RK_TRY(set_enlarge(set));
    size_t at = find_slot(set, digest);
    set->count += !set->used[at];
    set->slots[at] = *digest;
    set->used[at] = true;
    return NULL;
}

// What tells a program from others: its fingerprint; where none could be made its key, its name, or
// at last the request itself.
static void identify(const rk_run_model *model, const rk_run_compile *compile, rk_digest *out) {
    if (rk_digest_from_hex(rk_span_text(compile->program), out) ||
        rk_digest_from_hex(rk_span_text(compile->key), out))
        return;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(compile->name));
    if (!compile->name[0]) {
        rk_hasher_add_field(&hasher, rk_span_text(model->run));
        rk_hasher_add_u64(&hasher, compile->process);
        rk_hasher_add_u64(&hasher, compile->seq);
    }
    rk_hasher_finish(&hasher, out);
}

static void add_compile(rk_run_totals *totals, const rk_run_compile *compile) {
    bool hit = compile->outcome == RK_OUTCOME_HIT;
    totals->hits += hit;
    totals->misses += compile->outcome == RK_OUTCOME_MISS;
    totals->bypassed += compile->outcome == RK_OUTCOME_BYPASS;
    totals->compiled += compile->compiled;
    totals->refused += compile->refused;
    totals->deserialize_failures += compile->deserialize_failed;
    totals->quarantined += compile->quarantined;
    totals->ahead_of_time += compile->ahead_of_time;
    totals->found += compile->found;
    totals->unusable += !hit && (compile->deserialize_failed || compile->quarantined);
    totals->fingerprint_fallbacks += compile->by_bytes[0] != '\0';
    totals->preloaded += hit && compile->source == RK_RUN_SOURCE_PRELOAD;
    totals->remote_hits += hit && compile->source == RK_RUN_SOURCE_REMOTE;
    totals->compile_ns += compile->compile_ns;
    totals->load_ns += compile->load_ns;
    totals->avoided_compile_ns += hit ? compile->saved_ns : 0;
    totals->avoided_load_ns += hit ? compile->load_ns : 0;
    totals->waited += compile->wait_end[0] != '\0';
    totals->waited_ns += compile->waited_ns;
    totals->avoided_waited_ns += hit ? compile->waited_ns : 0;
}

static void add_counts(rk_journal_counts *sum, const rk_journal_counts *counts) {
    sum->executions += counts->executions;
    sum->host_to_device += counts->host_to_device;
    sum->host_to_device_bytes += counts->host_to_device_bytes;
    sum->device_to_host += counts->device_to_host;
    sum->device_to_host_bytes += counts->device_to_host_bytes;
}

static void add_preload(rk_run_preload *sum, const rk_run_preload *preload) {
    sum->listed += preload->listed;
    sum->loaded += preload->loaded;
    sum->claimed += preload->claimed;
    sum->wasted += preload->wasted;
    sum->load_ns += preload->load_ns;
    sum->wasted_load_ns += preload->wasted_load_ns;
}

static rk_err *add_warning(rk_run_totals *totals, const char *message) {
    for (size_t i = 0; i < totals->warning_count; i++)
        if (strcmp(totals->warnings[i], message) == 0)
            return NULL;
    char *copy = rk_strdup(message);
    size_t bytes = (totals->warning_count + 1) * sizeof *totals->warnings;
    char **warnings = copy ? rk_realloc(totals->warnings, bytes) : NULL;
    if (!warnings) {
        rk_free(copy);
        return rk_err_no_memory();
    }
    totals->warnings = warnings;
    totals->warnings[totals->warning_count++] = copy;
    return NULL;
}

rk_err *rk_run_totals_add(rk_run_totals *totals, const rk_run_model *model) {
    enum { MOST_WARNINGS = 1000 }; // distinct ones: more would only be noise
    if (!totals->seen)
        totals->seen = rk_calloc(1, sizeof *totals->seen);
    if (!totals->seen)
        return rk_err_no_memory();
    for (size_t i = 0; i < model->compile_count; i++) {
        rk_digest program;
        identify(model, &model->compiles[i], &program);
        RK_TRY(set_add(totals->seen, &program));
        add_compile(totals, &model->compiles[i]);
    }
    for (size_t i = 0; i < model->stored_count; i++)
        totals->stored += model->stored[i].stored;
    for (size_t i = 0; i < model->verified_count; i++) {
        totals->verified += model->verified[i].outcome != RK_VERIFIED_FAILED;
        totals->verify_differences += model->verified[i].outcome == RK_VERIFIED_DIFFERENT;
        totals->verify_ns += model->verified[i].verify_ns;
    }
    for (size_t i = 0; i < model->warning_count && totals->warning_count < MOST_WARNINGS; i++)
        RK_TRY(add_warning(totals, model->warnings[i].message));
    add_counts(&totals->counts, &model->counts);
    add_preload(&totals->preload, &model->preload);
    totals->runs++;
    totals->programs = totals->seen->count;
    uint64_t instead_ns = totals->avoided_load_ns + totals->avoided_waited_ns;
    totals->saved_ns =
        totals->avoided_compile_ns > instead_ns ? totals->avoided_compile_ns - instead_ns : 0;
    return NULL;
}

void rk_run_totals_cleanup(rk_run_totals *totals) {
    for (size_t i = 0; i < totals->warning_count; i++)
        rk_free(totals->warnings[i]);
    rk_free(totals->warnings);
    set_free(totals->seen);
    *totals = (rk_run_totals){0};
}
