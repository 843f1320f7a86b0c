#include "journal/totals_internal.h"

#include <stdlib.h>

#include "base/alloc.h"

// A hash table of digests with open addressing. A digest needs no further hash.
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

// Computes a program's identity: its fingerprint; if there is none its key, else its name, else the
// request itself.
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

static void add_failure(rk_run_totals *totals, const rk_run_compile *compile) {
    if (!compile->compiled || !compile->failed)
        return;
    totals->failed++;
    totals->failed_ns += compile->compile_ns;
    totals->failed_bypassed += compile->outcome == RK_OUTCOME_BYPASS;
}

static void add_compile(rk_run_totals *totals, const rk_run_compile *compile) {
    bool hit = compile->outcome == RK_OUTCOME_HIT;
    totals->hits += hit;
    totals->misses += compile->outcome == RK_OUTCOME_MISS;
    totals->bypassed += compile->outcome == RK_OUTCOME_BYPASS;
    totals->compiled += compile->compiled;
    add_failure(totals, compile);
    totals->refused += compile->refused;
    totals->deserialize_failures += compile->deserialize_failed;
    totals->quarantined += compile->quarantined;
    totals->ahead_of_time += compile->ahead_of_time;
    totals->found += compile->found;
    totals->unusable += !hit && (compile->deserialize_failed || compile->quarantined);
    totals->fingerprint_fallbacks += compile->by_bytes[0] != '\0';
    totals->preloaded += hit && compile->source == RK_RUN_SOURCE_PREFETCH;
    totals->remote_hits += hit && compile->source == RK_RUN_SOURCE_REMOTE;
    totals->compile_ns += compile->compile_ns;
    totals->load_ns += compile->load_ns;
    totals->avoided_compile_ns += hit ? compile->saved_ns : 0;
    totals->avoided_load_ns += hit ? compile->load_ns : 0;
    totals->waited += compile->wait_end[0] != '\0';
    totals->waited_ns += compile->waited_ns;
    totals->avoided_waited_ns += hit ? compile->waited_ns : 0;
}

#define FIELD(field_name, member)                                                                  \
    { .name = field_name, .at = offsetof(rk_run_totals, member) }
#define LATER_FIELD(field_name, member)                                                            \
    { .name = field_name, .at = offsetof(rk_run_totals, member), .is_later = true }

const rk_totals_field rk_totals_fields[] = {
    FIELD("runs", runs),
    FIELD("hits", hits),
    FIELD("misses", misses),
    FIELD("bypassed", bypassed),
    FIELD("compiled", compiled),
    LATER_FIELD("failed", failed),
    LATER_FIELD("failed_ns", failed_ns),
    LATER_FIELD("failed_bypassed", failed_bypassed),
    FIELD("fingerprint_fallbacks", fingerprint_fallbacks),
    FIELD("deserialize_failures", deserialize_failures),
    FIELD("preloaded", preloaded),
    FIELD("remote_hits", remote_hits),
    FIELD("stored", stored),
    FIELD("not_stored", not_stored),
    FIELD("quarantined", quarantined),
    FIELD("unusable", unusable),
    FIELD("ahead_of_time", ahead_of_time),
    FIELD("found", found),
    FIELD("refused", refused),
    FIELD("compile_ns", compile_ns),
    FIELD("load_ns", load_ns),
    FIELD("waited", waited),
    FIELD("waited_ns", waited_ns),
    FIELD("avoided_compile_ns", avoided_compile_ns),
    FIELD("avoided_load_ns", avoided_load_ns),
    FIELD("avoided_waited_ns", avoided_waited_ns),
    FIELD("verified", verified),
    FIELD("verify_differences", verify_differences),
    FIELD("verify_ns", verify_ns),
    FIELD("preload_listed", preload.listed),
    FIELD("preload_loaded", preload.loaded),
    FIELD("preload_claimed", preload.claimed),
    FIELD("preload_wasted", preload.wasted),
    FIELD("preload_load_ns", preload.load_ns),
    FIELD("preload_wasted_load_ns", preload.wasted_load_ns),
    LATER_FIELD("torch_starts", torch.starts),
    LATER_FIELD("torch_restored", torch.restored),
    LATER_FIELD("torch_restored_bytes", torch.restored_bytes),
    LATER_FIELD("torch_present", torch.present),
    LATER_FIELD("torch_not_restored", torch.not_restored),
    LATER_FIELD("torch_made", torch.made),
    LATER_FIELD("torch_kept", torch.kept),
    LATER_FIELD("torch_kept_bytes", torch.kept_bytes),
    LATER_FIELD("torch_not_kept", torch.not_kept),
    LATER_FIELD("torch_damaged", torch.damaged),
    LATER_FIELD("torch_restore_ns", torch.restore_ns),
    LATER_FIELD("torch_keep_ns", torch.keep_ns),
    FIELD("executions", counts.executions),
    FIELD("host_to_device", counts.host_to_device),
    FIELD("host_to_device_bytes", counts.host_to_device_bytes),
    FIELD("device_to_host", counts.device_to_host),
    FIELD("device_to_host_bytes", counts.device_to_host_bytes),
};
const size_t rk_totals_field_count = RK_ARRAY_LEN(rk_totals_fields);

// A new counter needs a line above; else summaries lack it.
enum { COMPUTED_FIELDS = 2 /* programs, saved_ns */, OTHER_MEMBERS = 3 };
_Static_assert(sizeof(void *) != sizeof(uint64_t) ||
                   sizeof(rk_run_totals) == sizeof(uint64_t) * (RK_ARRAY_LEN(rk_totals_fields) +
                                                                COMPUTED_FIELDS + OTHER_MEMBERS),
               "each counter of rk_run_totals is in rk_totals_fields");

uint64_t rk_totals_get(const rk_run_totals *totals, const rk_totals_field *field) {
    uint64_t value;
    memcpy(&value, (const uint8_t *)totals + field->at, sizeof value);
    return value;
}

void rk_totals_set(rk_run_totals *totals, const rk_totals_field *field, uint64_t value) {
    memcpy((uint8_t *)totals + field->at, &value, sizeof value);
}

rk_err *rk_totals_add_program(rk_run_totals *totals, const rk_digest *program) {
    if (!totals->seen)
        totals->seen = rk_calloc(1, sizeof *totals->seen);
    return totals->seen ? set_add(totals->seen, program) : rk_err_no_memory();
}

rk_err *rk_totals_add_warning(rk_run_totals *totals, const char *message) {
    enum { MOST_WARNINGS = 1000 }; // more distinct warnings are of no use
    if (totals->warning_count >= MOST_WARNINGS)
        return NULL;
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

static int compare_digests(const void *a, const void *b) {
    return memcmp(a, b, sizeof(rk_digest));
}

rk_err *rk_totals_list_programs(const rk_run_totals *totals, rk_digest **out_programs,
                                size_t *out_count) {
    const struct rk_run_program_set *set = totals->seen;
    *out_programs = NULL;
    *out_count = 0;
    if (!set || set->count == 0)
        return NULL;
    *out_programs = rk_calloc(set->count, sizeof **out_programs);
    if (!*out_programs)
        return rk_err_no_memory();
    for (size_t i = 0; i < set->capacity; i++)
        if (set->used[i])
            (*out_programs)[(*out_count)++] = set->slots[i];
    qsort(*out_programs, *out_count, sizeof **out_programs, compare_digests);
    return NULL;
}

void rk_totals_settle(rk_run_totals *totals) {
    totals->programs = totals->seen ? totals->seen->count : 0;
    uint64_t instead_ns = totals->avoided_load_ns + totals->avoided_waited_ns;
    totals->saved_ns =
        totals->avoided_compile_ns > instead_ns ? totals->avoided_compile_ns - instead_ns : 0;
}

static rk_err *add_events(rk_run_totals *totals, const rk_run_model *model) {
    for (size_t i = 0; i < model->compile_count; i++) {
        rk_digest program;
        identify(model, &model->compiles[i], &program);
        RK_TRY(rk_totals_add_program(totals, &program));
        add_compile(totals, &model->compiles[i]);
    }
    for (size_t i = 0; i < model->stored_count; i++) {
        totals->stored += model->stored[i].stored;
        totals->not_stored += !model->stored[i].stored;
    }
    for (size_t i = 0; i < model->verified_count; i++) {
        totals->verified += model->verified[i].outcome != RK_VERIFIED_FAILED;
        totals->verify_differences += model->verified[i].outcome == RK_VERIFIED_DIFFERENT;
        totals->verify_ns += model->verified[i].verify_ns;
    }
    for (size_t i = 0; i < model->warning_count; i++)
        RK_TRY(rk_totals_add_warning(totals, model->warnings[i].message));
    return NULL;
}

rk_err *rk_run_totals_of(const rk_run_model *model, rk_run_totals *out_totals) {
    RK_TRY(add_events(out_totals, model));
    out_totals->counts = model->counts;
    out_totals->preload = model->preload;
    out_totals->torch = model->torch;
    out_totals->runs = 1;
    rk_totals_settle(out_totals);
    return NULL;
}

rk_err *rk_run_totals_join(rk_run_totals *totals, const rk_run_totals *more) {
    const struct rk_run_program_set *set = more->seen;
    for (size_t i = 0; set && i < set->capacity; i++)
        if (set->used[i])
            RK_TRY(rk_totals_add_program(totals, &set->slots[i]));
    for (size_t i = 0; i < more->warning_count; i++)
        RK_TRY(rk_totals_add_warning(totals, more->warnings[i]));
    for (size_t i = 0; i < rk_totals_field_count; i++) {
        const rk_totals_field *field = &rk_totals_fields[i];
        rk_totals_set(totals, field, rk_totals_get(totals, field) + rk_totals_get(more, field));
    }
    rk_totals_settle(totals);
    return NULL;
}

rk_err *rk_run_totals_add(rk_run_totals *totals, const rk_run_model *model) {
    RK_AUTO(rk_run_totals) own = {0};
    RK_TRY(rk_run_totals_of(model, &own));
    return rk_run_totals_join(totals, &own);
}

void rk_run_totals_cleanup(rk_run_totals *totals) {
    for (size_t i = 0; i < totals->warning_count; i++)
        rk_free(totals->warnings[i]);
    rk_free(totals->warnings);
    set_free(totals->seen);
    *totals = (rk_run_totals){0};
}
