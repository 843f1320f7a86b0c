// Programs of the step detector: their scores, the reference, and which of them are light.
#include <string.h>

#include "base/alloc.h"
#include "diagnose/steps/detect_internal.h"

#define NONE UINT32_MAX

enum {
    TRIVIAL_OPERATIONS = 5,  // a smaller program that returns nothing that it got has no score
    CARRIED_MAX = 15,        // more carried results do not raise the score
    SMALL = 16,              // a program is small compared with one of SMALL times its operations
    LITTLE = 4,              // less than this part of the carried results is little
    MUCH = 2,                // at least this part is much
    TINY = 64,               // a state with less than this part of the bytes is tiny
    GAP_END = 4,             // a light program with this part of the operations ends a gap
    GAP_MIN = 6,             // executions; a gap also has about one for each carried result
    VERSION_CARRIED_MIN = 4, // versions of one step are only known by so many carried results
    VERSION_BYTES = 16,      // the state of versions differs by less than this part
    VERSIONS_MIN = 3,        // so many programs that do not recur are versions
    UNROLLED_TIMES = 16,     // versions of an unrolled step differ by at most this factor
    UNROLLED_EACH = 32,      // an unrolled step has so many operations for each carried result
};

uint32_t rk_step_program_score(const rk_step_program *program) {
    uint64_t operations = program->operations, carried = program->carried;
    if (operations == 0)
        return 1; // not known
    if (operations <= TRIVIAL_OPERATIONS && carried == 0)
        return 0;
    uint64_t score = operations * (1 + (carried < CARRIED_MAX ? carried : CARRIED_MAX));
    return score < UINT32_MAX ? (uint32_t)score : UINT32_MAX;
}

// The identity of a program: the user's name, or the name and the role, or its number if the role
// is not known. Steps on batches of another length, or with another constant, have the same role.
static uint32_t token_of(const rk_step_program *program) {
    if (program->is_user_name)
        return program->name | RK_STEP_DETECTOR_NAMED;
    if (program->operations == 0)
        return program->number;
    uint32_t parts[] = {program->operations, program->carried, program->carried_types};
    uint32_t hash = program->name;
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++)
        hash = (hash ^ parts[i]) * 0x9E3779B1u ^ hash >> 15;
    return hash | RK_STEP_DETECTOR_NAMED;
}

// False if one of the two is not known.
static bool is_other_size(uint64_t bytes, uint64_t other) {
    uint64_t more = bytes < other ? other : bytes, less = bytes < other ? bytes : other;
    return less > 0 && more - less > more / VERSION_BYTES;
}

// Returns whether two programs return values of nearly the same types. False if they are not known.
static bool has_similar_types(const rk_step_detector_program *a,
                              const rk_step_detector_program *b) {
    return __builtin_popcountll(a->carried_set & b->carried_set) >
           __builtin_popcountll(a->carried_set ^ b->carried_set);
}

static uint32_t distance_of(uint32_t a, uint32_t b) {
    return a < b ? b - a : a - b;
}

// Returns whether two programs return about as many bytes of state. Another length of the batch
// changes them as well, if a prediction or an activation has the type of an input and outlives its
// step. Then the programs have the same inputs and nearly the same operations, and only the types
// with that length differ. (A few operations are no update of all parameters.)
static bool is_of_similar_state(const rk_step_detector_program *a,
                                const rk_step_detector_program *b) {
    enum { PARAMETERS_EACH = 16 };
    return !is_other_size(a->carried_bytes, b->carried_bytes) ||
           (a->inputs == b->inputs && distance_of(a->carried, b->carried) <= 1 &&
            PARAMETERS_EACH * (uint64_t)distance_of(a->operations, b->operations) <= a->carried &&
            has_similar_types(a, b));
}

// Returns whether the program gets little besides the state that it returns. False if the inputs
// are not known. In an accumulation of gradients with plain SGD, the micro-steps and the update
// return the same state, too, but they get both the parameters and the gradients.
static bool gets_only_state(const rk_step_detector_program *program) {
    return program->inputs > 0 && program->inputs < 2 * (uint64_t)program->carried;
}

bool rk_step_detector_are_whole_steps(const rk_step_detector_program *a,
                                      const rk_step_detector_program *b) {
    return a->carried_bytes > 0 && !is_other_size(a->carried_bytes, b->carried_bytes) &&
           gets_only_state(a) && gets_only_state(b) && has_similar_types(a, b);
}

bool rk_step_detector_does_more(const rk_step_detector_program *program,
                                const rk_step_detector_program *step) {
    return step->carried >= VERSION_CARRIED_MIN && step->carried_bytes > 0 && step->carried_set &&
           gets_only_state(step) && program->carried >= step->carried &&
           program->carried_bytes >= step->carried_bytes &&
           program->operations >= step->operations &&
           (program->carried_set & step->carried_set) == step->carried_set;
}

// Returns whether two programs get and return nearly as many values of nearly the same types, and
// little else. A few tensors may have other types: those of a batch or of a sample.
static bool is_of_same_model(const rk_step_detector_program *a, const rk_step_detector_program *b) {
    enum { CARRIED_MIN = 16 };
    return a->carried >= CARRIED_MIN && b->carried >= CARRIED_MIN && gets_only_state(a) &&
           gets_only_state(b) && has_similar_types(a, b);
}

// Returns whether two programs get and return the same state, except for some scalars. The
// operations may differ: one of them computes more values for a log line, or has a shorter
// sequence. Or one computes a tensor of the step before or a sample, too, and gets an input for it.
static bool is_of_same_state(const rk_step_detector_program *a, const rk_step_detector_program *b) {
    enum { TENSORS = 2 };
    uint64_t one = a->operations, other = b->operations;
    bool is_same = a->inputs == b->inputs && a->carried_types == b->carried_types &&
                   a->carried_bytes > 0 && !is_other_size(a->carried_bytes, b->carried_bytes) &&
                   gets_only_state(a) && gets_only_state(b);
    bool is_near = distance_of(a->inputs, b->inputs) <= TENSORS &&
                   distance_of(a->carried, b->carried) <= TENSORS &&
                   (rk_step_detector_are_whole_steps(a, b) || is_of_same_model(a, b));
    return (is_same || is_near) && 2 * one >= other && 2 * other >= one;
}

// Returns whether two programs return the same state, and one has clearly fewer operations, but too
// many for an update alone: PyTorch/XLA unrolls an LSTM over its sequence, and the last sequence of
// an epoch is shorter. (A micro-step and the same with an update of plain SGD return the same
// state, too. But such an update adds few operations compared with UNROLLED_EACH.)
static bool is_unrolled_less(const rk_step_detector_program *a, const rk_step_detector_program *b) {
    uint64_t less = a->operations < b->operations ? a->operations : b->operations;
    uint64_t more = a->operations < b->operations ? b->operations : a->operations;
    return a->carried == b->carried && a->carried_types == b->carried_types &&
           a->carried_bytes == b->carried_bytes && a->carried_bytes > 0 &&
           less >= UNROLLED_EACH * (uint64_t)a->carried && 4 * less <= 3 * more &&
           UNROLLED_TIMES * less >= more;
}

// Returns whether one of two programs gets a part of the state that the other one makes: the hidden
// state of an LSTM is zeros in the first step of an epoch. All else is nearly the same.
static bool makes_part_of_state(const rk_step_detector_program *a,
                                const rk_step_detector_program *b) {
    const rk_step_detector_program *less = a->carried < b->carried ? a : b;
    const rk_step_detector_program *more = a->carried < b->carried ? b : a;
    return less->carried >= VERSION_CARRIED_MIN && more->carried > less->carried &&
           more->inputs - less->inputs == more->carried - less->carried &&
           has_similar_types(a, b) && !is_other_size(a->operations, b->operations);
}

// Returns whether two programs without names of their own may be versions of one step: with another
// mask, another length of the batch, or another state at the start of an epoch. They return nearly
// the same state. If it is not exactly the same, their operations must be nearly the same as well:
// an update of the parameters would need at least one more operation for each of them.
static bool is_version(const rk_step_detector_program *a, const rk_step_detector_program *b) {
    uint32_t less = a->carried < b->carried ? a->carried : b->carried;
    uint32_t more = a->carried < b->carried ? b->carried : a->carried;
    uint32_t distance = distance_of(a->operations, b->operations);
    bool is_near = less >= VERSION_CARRIED_MIN && distance < less && is_of_similar_state(a, b);
    return a->is_numbered && b->is_numbered && a->name == b->name && a->operations > 0 &&
           b->operations > 0 && LITTLE * (more - less) <= more &&
           (is_near || is_of_same_state(a, b) || is_unrolled_less(a, b) ||
            makes_part_of_state(a, b));
}

// Returns whether the state of the program is tiny compared with that of the reference: the
// simulated environment of an agent, compared with the training of the agent.
static bool is_of_tiny_state(const rk_step_detector_program *program,
                             const rk_step_detector_program *reference) {
    return program->carried_bytes > 0 && program->carried_bytes < reference->carried_bytes / TINY &&
           program->carried < reference->carried &&
           MUCH * (uint64_t)program->operations < reference->operations;
}

// Returns whether the program returns nothing that has a type of the reference's state, as far as
// the types are known. So it is no part of an update: an evaluation or a data loader, operation by
// operation, returns values of the types of a batch.
static bool is_of_other_types(const rk_step_detector_program *program,
                              const rk_step_detector_program *reference) {
    return program->carried_set && reference->carried_set &&
           !(program->carried_set & reference->carried_set);
}

static bool is_light(const rk_step_detector *r, const rk_step_detector_program *program) {
    if (program->is_companion)
        return true;
    if (r->reference == NONE || program->operations == 0)
        return false;
    const rk_step_detector_program *reference = &r->programs[r->reference];
    uint64_t operations = program->operations, carried = program->carried;
    if (LITTLE * carried < reference->carried)
        return true;
    if (program->token == reference->token)
        return false;
    bool carries_much = carried >= MUCH && MUCH * carried >= reference->carried;
    return is_of_tiny_state(program, reference) ||
           (program->is_operation && carried < reference->carried &&
            is_of_other_types(program, reference)) ||
           (SMALL * operations < reference->operations && !carries_much);
}

static bool grow(rk_step_detector *r, uint32_t number) {
    uint32_t larger = number < 32 ? 64 : number * 2;
    rk_step_detector_program *grown = rk_realloc(r->programs, larger * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + r->program_capacity, 0, (larger - r->program_capacity) * sizeof *grown);
    r->programs = grown;
    r->program_capacity = larger;
    return true;
}

static bool is_in_current(const rk_step_detector *r, const rk_step_detector_program *program) {
    for (uint32_t i = 0; r->current && i < r->current->period; i++)
        if (r->current->tokens[i] == (r->current->by_name ? program->name : program->token))
            return true;
    return false;
}

// Returns whether two programs get and return the same state, and are unrolled over sequences of
// different lengths. Two models may have equal states, too. But their updates, if they are so
// large, also get the parameters of the other model, or have equally many operations.
static bool is_of_other_length(const rk_step_detector_program *a,
                               const rk_step_detector_program *b) {
    uint64_t less = a->operations < b->operations ? a->operations : b->operations;
    return a->inputs == b->inputs && a->carried == b->carried &&
           a->carried_types == b->carried_types && a->carried_set == b->carried_set &&
           a->carried_bytes == b->carried_bytes && gets_only_state(a) && gets_only_state(b) &&
           less >= UNROLLED_EACH * (uint64_t)a->carried &&
           distance_of(a->operations, b->operations) >= a->carried;
}

// Compares versions of a step as one program, as soon as one of them was executed twice in a row.
// The updates of two models may be as similar as versions, but they alternate. (Sequences of two
// lengths may alternate, too.)
static void merge_versions(rk_step_detector *r) {
    for (uint32_t i = 0; i < r->program_capacity; i++) {
        rk_step_detector_program *program = &r->programs[i];
        if (program->version_of == 0)
            continue;
        const rk_step_detector_program *other = &r->programs[program->version_of - 1];
        bool may_alternate = is_of_other_length(program, other);
        if ((!program->is_repeated && !other->is_repeated && !may_alternate) ||
            is_in_current(r, program))
            continue;
        program->token = other->token;
        program->is_repeated |= other->is_repeated;
        program->version_of = 0;
    }
}

void rk_step_detector_note_repetition(rk_step_detector *r, uint32_t program) {
    if (r->programs[program].is_repeated)
        return;
    r->programs[program].is_repeated = true;
    merge_versions(r);
}

// Returns whether the program is one of many versions that were executed once each: a number in
// them changes from step to step. The programs of several models recur.
static bool is_never_repeated(const rk_step_detector *r, const rk_step_detector_program *program) {
    uint32_t once = 0;
    for (uint32_t i = 0; i < r->program_capacity; i++)
        once += r->programs[i].version_of == program->version_of && r->programs[i].executions <= 1;
    return once >= VERSIONS_MIN;
}

rk_step_detector_program *rk_step_detector_learn(rk_step_detector *r,
                                                 const rk_step_program *program) {
    uint32_t number = program->number;
    if (number >= r->program_capacity && !grow(r, number))
        return NULL;
    rk_step_detector_program *known = &r->programs[number];
    if (known->name != 0)
        return known;
    *known = (rk_step_detector_program){
        .token = token_of(program),
        .name = program->name | RK_STEP_DETECTOR_NAMED,
        .operations = program->operations,
        .inputs = program->inputs,
        .carried = program->carried,
        .carried_types = program->carried_types,
        .carried_set = program->carried_set,
        .score = rk_step_program_score(program),
        .carried_bytes = program->carried_bytes,
        .is_numbered = !program->is_user_name,
        .is_operation = program->is_operation,
    };
    for (uint32_t i = 0; i < r->program_capacity && known->is_numbered; i++)
        if (i != number && is_version(&r->programs[i], known)) {
            known->version_of = i + 1;
            r->programs[i].is_repeated |= is_never_repeated(r, known);
            break;
        }
    merge_versions(r);
    for (uint32_t i = 0; i < r->program_capacity && r->has_companions; i++)
        if (r->programs[i].token == known->token)
            known->is_companion |= r->programs[i].is_companion;
    known->is_light = is_light(r, known);
    return known;
}

static uint32_t digits_of(uint32_t number) {
    return number == 0 ? 0 : 32 - (uint32_t)__builtin_clz(number);
}

uint32_t rk_step_detector_gap_of(const rk_step_detector *r, uint32_t length) {
    if (r->reference == NONE || length < GAP_MIN)
        return NONE;
    uint32_t gap = digits_of(length) - 1;
    return r->gaps[gap].is_light ? NONE : RK_STEP_DETECTOR_FIRST_GAP + gap;
}

// Returns whether a light program is large. A large light program is an evaluation, an attack on
// the model or the like; the small programs that follow belong to it, not to an optimizer.
static bool ends_gap(const rk_step_detector *r, const rk_step_detector_program *light) {
    return r->reference != NONE &&
           GAP_END * (uint64_t)light->operations >= r->programs[r->reference].operations;
}

// Adds a light program to a part of a gap. A program of the user that is not small ends the part:
// it may be the evaluation of one batch. An optimizer with such programs has long parts around
// them.
static void add_to_part(const rk_step_detector *r, const rk_step_detector_program *light,
                        uint32_t *part) {
    bool divides = r->reference != NONE && !light->is_operation &&
                   SMALL * (uint64_t)light->operations >= r->programs[r->reference].operations;
    bool returns_state =
        light->carried > 0 &&
        (r->reference == NONE || !is_of_other_types(light, &r->programs[r->reference]));
    *part = divides ? 0 : *part + returns_state;
}

void rk_step_detector_add_to_gap(rk_step_detector *r, const rk_step_detector_program *light) {
    r->gap_ended |= ends_gap(r, light);
    add_to_part(r, light, &r->gap_part);
    if (!r->gap_ended && r->gap_part > r->gap)
        r->gap = r->gap_part;
}

static void move_entry(rk_step_detector *r, const rk_step_detector_entry *entry, uint64_t *to,
                       uint64_t *kept) {
    rk_step_detector_entry copy = *entry;
    *rk_step_detector_entry_at(r, --*to) = copy;
    ++*kept;
}

// Removes light programs from the history, and adds the gaps that they make. The entries move to
// its end.
static void clean_history(rk_step_detector *r) {
    uint64_t to = r->entries, kept = 0;
    uint32_t length = 0, part = 0;
    rk_step_detector_entry gap = {.program = NONE};
    bool ends = false;
    for (uint64_t i = r->entries; i-- > r->entries - r->valid;) {
        const rk_step_detector_program *program = rk_step_detector_program_at(r, i);
        const rk_step_detector_entry *entry = rk_step_detector_entry_at(r, i);
        if (program->is_light) {
            ends = ends || is_in_current(r, program);
            if (ends_gap(r, program)) {
                r->gap_ended |= kept == 0;
                length = part = 0; // only what precedes it may be a gap
                continue;
            }
            if (length == 0) { // its last execution
                gap.before = gap.totals = entry->totals;
                gap.programs_before = gap.programs = entry->programs;
            }
            add_to_part(r, program, &part);
            length = length > part ? length : part;
            continue;
        }
        gap.program = kept > 0 ? rk_step_detector_gap_of(r, length) : NONE;
        if (gap.program != NONE)
            move_entry(r, &gap, &to, &kept);
        else if (kept == 0)
            r->gap += length;
        length = part = 0;
        move_entry(r, entry, &to, &kept);
    }
    r->valid = kept;
    r->next_look = 0;
    if (ends) {
        rk_step_detector_emit(r);
        r->current = NULL;
        r->at = 0;
        r->flat_steps = 0;
    }
    if (!r->current)
        r->begun = r->entries - kept;
}

static void find_light(rk_step_detector *r) {
    uint32_t carried = r->reference == NONE ? 0 : r->programs[r->reference].carried;
    for (uint32_t i = 0; i < r->program_capacity; i++)
        r->programs[i].is_light = is_light(r, &r->programs[i]);
    for (uint32_t i = 0; i < RK_STEP_DETECTOR_GAPS; i++)
        r->gaps[i].is_light = r->gaps[i].is_companion || i + 1 < digits_of(carried);
    clean_history(r);
}

void rk_step_detector_weigh(rk_step_detector *r, uint32_t program) {
    rk_step_detector_program *candidate = &r->programs[program];
    uint32_t times = 0, best = r->reference == NONE ? 0 : r->programs[r->reference].score;
    candidate->executions += candidate->executions < RK_STEP_DETECTOR_TIMES;
    if (RK_LIKELY(candidate->score <= best || candidate->operations == 0 ||
                  candidate->is_companion))
        return;
    for (uint32_t i = 0; i < r->program_capacity; i++)
        times += r->programs[i].token == candidate->token ? r->programs[i].executions : 0;
    if (times < RK_STEP_DETECTOR_TIMES)
        return;
    r->reference = program;
    find_light(r);
}

bool rk_step_detector_drop_companions(rk_step_detector *r, uint64_t from, uint32_t period) {
    const rk_step_detector_program *main_program = rk_step_detector_program_at(r, from);
    uint32_t times = 0, others = 0;
    for (uint32_t i = 1; i < period; i++)
        if (rk_step_detector_program_at(r, from + i)->carried > main_program->carried)
            main_program = rk_step_detector_program_at(r, from + i);
    uint32_t token = main_program->token, carried = main_program->carried;
    for (uint32_t i = 0; i < period; i++) {
        const rk_step_detector_program *program = rk_step_detector_program_at(r, from + i);
        times += program->token == token;
        others += program->token != token;
        if (program->token != token &&
            (program->operations == 0 || MUCH * (uint64_t)program->carried > carried))
            return false;
    }
    if (times < 2 || others == 0 || carried == 0)
        return false;
    r->has_companions = true;
    for (uint32_t i = 0; i < period; i++) {
        uint32_t other = rk_step_detector_program_at(r, from + i)->token;
        for (uint32_t p = 0; p < r->program_capacity && other != token; p++)
            r->programs[p].is_companion |= r->programs[p].token == other;
        for (uint32_t g = 0; g < RK_STEP_DETECTOR_GAPS; g++)
            r->gaps[g].is_companion |= r->gaps[g].token == other;
    }
    find_light(r);
    return true;
}

bool rk_step_detector_is_similar(const rk_step_detector_program *a,
                                 const rk_step_detector_program *b) {
    if (a->token == b->token)
        return true;
    uint64_t one = a->operations, other = b->operations;
    return a->is_numbered && b->is_numbered && one > 0 && other > 0 && a->carried > 0 &&
           (a->carried_types == b->carried_types || has_similar_types(a, b)) && 2 * one >= other &&
           2 * other >= one;
}
