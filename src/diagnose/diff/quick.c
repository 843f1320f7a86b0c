#include "diagnose/diff/quick.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "diagnose/diff/diff_internal.h"
#include "diagnose/diff/hash.h"
#include "program/read.h"

enum { FILES_MAX = 256, ROOTS_MAX = 16 };

typedef struct quick_item {
    uint32_t kind, line;
    uint16_t file; // index in `files`; FILES_MAX: unknown
} quick_item;

typedef struct quick_literal {
    uint64_t value; // hash of its shortened text
    uint32_t item;  // the item that uses it
    char text[12];  // shortened
} quick_literal;

struct rk_quick_program {
    rk_sketch sketch;
    quick_item *items; // owned
    uint32_t item_count;
    quick_literal *literals; // owned
    uint32_t literal_count;
    char *files[FILES_MAX]; // owned
    uint16_t file_count;
    // The user's outermost functions below the call: the compiled function itself, or what a
    // library calls inside of it. Hashes of file and function.
    uint64_t roots[ROOTS_MAX];
    uint32_t root_count;
};

void rk_quick_program_free(rk_quick_program *program) {
    if (!program)
        return;
    rk_sketch_cleanup(&program->sketch);
    rk_free(program->items);
    rk_free(program->literals);
    for (uint16_t i = 0; i < program->file_count; i++)
        rk_free(program->files[i]);
    rk_free(program);
}

const rk_sketch *rk_quick_program_sketch(const rk_quick_program *program) {
    return &program->sketch;
}

static uint16_t file_number(rk_quick_program *program, rk_span file) {
    uint16_t i = 0;
    while (i < program->file_count && !rk_span_is(file, program->files[i]))
        i++;
    if (i < program->file_count || i == FILES_MAX)
        return i;
    program->files[i] = rk_strndup((const char *)file.data, file.len);
    if (!program->files[i])
        return FILES_MAX; // out of memory: its lines stay unknown
    program->file_count++;
    return i;
}

static uint32_t count_operands(const rk_program_index *index) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->item_count; i++)
        count += index->model->ops.items[index->items[i].op].operand_count;
    return count;
}

static void add_literals(rk_quick_program *program, const rk_program_index *index, uint32_t item) {
    const rk_model *m = index->model;
    const rk_op *op = &m->ops.items[index->items[item].op];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t constant = index->literal[m->operands.items[op->first_operand + i]];
        if (constant == RK_NO_ID)
            continue;
        quick_literal *literal = &program->literals[program->literal_count++];
        RK_AUTO(rk_buf) text = {0};
        rk_differ_write_constant(index, constant, &text);
        *literal =
            (quick_literal){.value = rk_hash_span(RK_HASH_SEED, rk_buf_span(&text)), .item = item};
        size_t len = text.len < sizeof literal->text ? text.len : sizeof literal->text - 1;
        memcpy(literal->text, rk_buf_text(&text), len);
    }
}

static uint64_t hash_function(const rk_source *frame) {
    return rk_hash_span(rk_hash_span(RK_HASH_SEED, frame->file), frame->function);
}

static bool has_hash(const uint64_t *hashes, uint32_t count, uint64_t hash) {
    for (uint32_t i = 0; i < count; i++)
        if (hashes[i] == hash)
            return true;
    return false;
}

// Reads the first operations only, because all operations of a function have the same root. JAX
// writes the innermost frames of a deep stack only: then the root is a function further inside.
static void add_roots(rk_quick_program *program, const rk_program_index *index) {
    enum { ITEMS_MAX = 128, FRAMES_MAX = 128 };
    const rk_model *m = index->model;
    const rk_program_index_function *entry = &index->functions[index->entry];
    rk_source frames[FRAMES_MAX];
    uint64_t callers[FRAMES_MAX];
    uint32_t caller_count = 0;
    if (index->call.file.len)
        caller_count = rk_source_frames(m, index->call.location, RK_FILE_USER, frames, FRAMES_MAX);
    for (uint32_t i = 0; i < caller_count; i++)
        callers[i] = hash_function(&frames[i]);
    for (uint32_t i = 0; i < entry->count && i < ITEMS_MAX && caller_count > 0; i++) {
        uint32_t location = m->ops.items[index->items[entry->first + i].op].location;
        uint32_t at = rk_source_frames(m, location, RK_FILE_USER, frames, FRAMES_MAX);
        while (at > 0 && has_hash(callers, caller_count, hash_function(&frames[at - 1])))
            at--;
        uint64_t root = at > 0 ? hash_function(&frames[at - 1]) : 0;
        if (at > 0 && program->root_count < ROOTS_MAX &&
            !has_hash(program->roots, program->root_count, root))
            program->roots[program->root_count++] = root;
    }
}

static rk_err *fill(rk_quick_program *program, const rk_program_index *index) {
    program->items = rk_malloc(((size_t)index->item_count + 1) * sizeof *program->items);
    program->literals = rk_malloc(((size_t)count_operands(index) + 1) * sizeof *program->literals);
    if (!program->items || !program->literals)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < index->item_count; i++) {
        rk_differ_subject subject = rk_differ_subject_of(index, i);
        program->items[i] = (quick_item){
            .kind = (uint32_t)index->items[i].kind,
            .line = subject.place.line,
            .file = subject.place.file.len ? file_number(program, subject.place.file) : FILES_MAX};
        add_literals(program, index, i);
    }
    program->item_count = index->item_count;
    add_roots(program, index);
    return rk_sketch_make(index, &program->sketch);
}

rk_err *rk_quick_program_make(rk_span code, rk_span format, rk_quick_program **out_program) {
    *out_program = NULL;
    if (code.len > RK_QUICK_PROGRAM_MAX_BYTES)
        return NULL;
    rk_model *model = NULL;
    rk_autofree char *reason = NULL;
    RK_TRY(rk_model_read(code, format, RK_READ_LOCATIONS, &model, &reason));
    if (!model)
        return NULL;
    rk_program_index index;
    rk_quick_program *program = rk_calloc(1, sizeof *program);
    rk_err *err = rk_program_index_make(model, &index);
    if (!err)
        err = program ? fill(program, &index) : rk_err_no_memory();
    rk_program_index_cleanup(&index);
    rk_model_free(model);
    if (err)
        rk_quick_program_free(program);
    else
        *out_program = program;
    return err;
}

// Verdicts.

static void set_text(char *out, size_t size, rk_span text) {
    size_t len = text.len < size ? text.len : size - 1;
    while (len && len < text.len && (text.data[len] & 0xC0) == 0x80) // do not cut a code point
        len--;
    memcpy(out, text.data, len);
    out[len] = '\0';
}

static void set_verdict(rk_quick_verdict *verdict, rk_cause cause, rk_buf *words) {
    verdict->cause = cause;
    if (words->len)
        set_text(verdict->words, sizeof verdict->words, rk_buf_span(words));
}

static void place_at_call(rk_quick_verdict *verdict, const rk_sketch *sketch) {
    const rk_sketch_line *place = rk_sketch_place(sketch);
    if (!place)
        return;
    set_text(verdict->file, sizeof verdict->file, rk_span_text(place->file));
    verdict->line = place->line;
    verdict->is_rough = !sketch->call.line;
}

static void place_at_item(rk_quick_verdict *verdict, const rk_quick_program *program,
                          uint32_t item) {
    const quick_item *at = item < program->item_count ? &program->items[item] : NULL;
    if (!at || at->file >= program->file_count) {
        place_at_call(verdict, &program->sketch);
        return;
    }
    set_text(verdict->file, sizeof verdict->file, rk_span_text(program->files[at->file]));
    verdict->line = at->line;
}

static bool same_type(const rk_sketch_value *a, const rk_sketch_value *b, bool *out_dtype) {
    *out_dtype = rk_sketch_is_other_element(a, b);
    return strcmp(a->type, b->type) == 0;
}

// PyTorch/XLA gives its inputs no names.
static const char *shown_name(const rk_sketch_value *input) {
    return *input->name ? input->name : "of the program";
}

static bool classify_inputs(const rk_sketch *a, const rk_sketch *b, rk_quick_verdict *verdict) {
    RK_AUTO(rk_buf) words = {0};
    bool is_dtype = false, more = b->input_count > a->input_count,
         less = b->input_count < a->input_count;
    uint32_t i = 0;
    while (i < a->input_count && i < b->input_count &&
           strcmp(a->inputs[i].name, b->inputs[i].name) == 0 &&
           same_type(&a->inputs[i], &b->inputs[i], &is_dtype))
        i++;
    if (more && i < b->input_count)
        rk_buf_add_format(&words, "input %s added: %s", shown_name(&b->inputs[i]),
                          b->inputs[i].type);
    else if (less && i < a->input_count)
        rk_buf_add_format(&words, "input %s removed: %s", shown_name(&a->inputs[i]),
                          a->inputs[i].type);
    else if (a->result_count != b->result_count)
        rk_buf_add_format(&words, "%u results instead of %u", b->result_count, a->result_count);
    else if (i < a->input_count && i < b->input_count)
        rk_buf_add_format(&words, "input %s: %s → %s", shown_name(&b->inputs[i]), a->inputs[i].type,
                          b->inputs[i].type);
    else
        return false;
    bool counts = more || less || a->result_count != b->result_count;
    set_verdict(verdict,
                counts     ? RK_CAUSE_PARAMETERS
                : is_dtype ? RK_CAUSE_DTYPE
                           : RK_CAUSE_SHAPE,
                &words);
    place_at_call(verdict, b);
    return true;
}

static void classify_inside(const rk_quick_program *a, const rk_quick_program *b,
                            rk_quick_verdict *verdict) {
    RK_AUTO(rk_buf) words = {0};
    uint32_t i = 0;
    if (a->sketch.structure != b->sketch.structure) {
        while (i < a->item_count && i < b->item_count && a->items[i].kind == b->items[i].kind)
            i++;
        rk_buf_add_format(&words, "different operations: %u instead of %u", b->sketch.op_count,
                          a->sketch.op_count);
        set_verdict(verdict, RK_CAUSE_STRUCTURE, &words);
        place_at_item(verdict, b, i);
        return;
    }
    // The operations are equal: only constants, sizes and attributes can differ.
    while (i < a->literal_count && i < b->literal_count &&
           a->literals[i].value == b->literals[i].value)
        i++;
    if (i < a->literal_count && i < b->literal_count) {
        rk_buf_add_format(&words, "constant: %s → %s", a->literals[i].text, b->literals[i].text);
        place_at_item(verdict, b, b->literals[i].item);
    } else {
        rk_buf_add_text(&words, "a size, a sharding or another attribute inside the program");
        place_at_call(verdict, &b->sketch);
    }
    set_verdict(verdict, RK_CAUSE_CONSTANT, &words);
}

bool rk_quick_are_two_functions(const rk_quick_program *a, const rk_quick_program *b) {
    const rk_sketch *x = &a->sketch, *y = &b->sketch;
    if (a->root_count == 0 && b->root_count == 0)
        return x->call.line > 0 && y->call.line > 0 && x->call.hash != y->call.hash &&
               x->structure != y->structure;
    for (uint32_t i = 0; i < a->root_count; i++)
        if (has_hash(b->roots, b->root_count, a->roots[i]))
            return false;
    return a->root_count > 0 && b->root_count > 0;
}

// Returns how many sizes differ in two types; as many as possible if their dimensions do.
static uint32_t count_other_sizes(const char *a, const char *b) {
    enum { OTHER_TYPE = 16 };
    uint32_t count = 0;
    while (*a && *b) {
        size_t one = strcspn(a, "x>"), other = strcspn(b, "x>");
        count += one != other || memcmp(a, b, one) != 0;
        a += one + (a[one] != '\0');
        b += other + (b[other] != '\0');
    }
    return *a || *b ? OTHER_TYPE : count;
}

static uint32_t count_other_inputs(const rk_sketch *a, const rk_sketch *b) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->input_count && i < b->input_count; i++)
        count += count_other_sizes(a->inputs[i].type, b->inputs[i].type);
    return count;
}

void rk_quick_classify(const rk_quick_program *program, const rk_quick_program *const *seen,
                       size_t seen_count, rk_quick_verdict *out_verdict) {
    double best = 0;
    uint32_t fewest = UINT32_MAX;
    *out_verdict = (rk_quick_verdict){.cause = RK_CAUSE_FIRST, .nearest = SIZE_MAX};
    for (size_t i = 0; i < seen_count; i++) {
        double similarity =
            seen[i] ? rk_sketch_similarity(&seen[i]->sketch, &program->sketch, true) : 0;
        uint32_t others =
            similarity > 0 ? count_other_inputs(&seen[i]->sketch, &program->sketch) : 0;
        // Of equally similar programs, the one with the most sizes in common; of these the latest.
        if (similarity > 0 && (similarity > best || (similarity == best && others <= fewest))) {
            best = similarity;
            fewest = others;
            out_verdict->nearest = i;
        }
    }
    if (out_verdict->nearest == SIZE_MAX) {
        place_at_call(out_verdict, &program->sketch);
        set_text(out_verdict->words, sizeof out_verdict->words,
                 rk_span_text("no similar program in this process"));
        return;
    }
    const rk_quick_program *nearest = seen[out_verdict->nearest];
    if (!classify_inputs(&nearest->sketch, &program->sketch, out_verdict))
        classify_inside(nearest, program, out_verdict);
}
