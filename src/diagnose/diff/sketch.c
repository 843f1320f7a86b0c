#include "diagnose/diff/sketch.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/diff/hash.h"
#include "program/read.h"

static void free_line(rk_sketch_line *line) {
    rk_free(line->file);
    rk_free(line->function);
}

static void free_values(rk_sketch_value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        rk_free(values[i].name);
        rk_free(values[i].type);
    }
    rk_free(values);
}

void rk_sketch_cleanup(rk_sketch *sketch) {
    rk_free(sketch->module);
    rk_free(sketch->producer);
    free_values(sketch->inputs, sketch->input_count);
    free_values(sketch->results, sketch->result_count);
    rk_free(sketch->kinds);
    for (uint32_t i = 0; i < sketch->line_count; i++)
        free_line(&sketch->lines[i]);
    rk_free(sketch->lines);
    free_line(&sketch->call);
    rk_free(sketch->inner);
    *sketch = (rk_sketch){0};
}

static int by_hash(const void *a, const void *b) {
    const rk_sketch_kind *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void finish_line(rk_sketch_line *line) {
    uint64_t file = rk_hash_text(RK_HASH_SEED, line->file ? line->file : "");
    line->hash = rk_hash_mix(file, line->line);
    line->caller = rk_hash_text(file, line->function ? line->function : "");
}

void rk_sketch_finish(rk_sketch *sketch) {
    for (uint32_t i = 0; i < sketch->input_count; i++) {
        rk_sketch_value *input = &sketch->inputs[i];
        input->hash = rk_hash_text(rk_hash_text(RK_HASH_SEED, input->name), input->type);
    }
    for (uint32_t i = 0; i < sketch->line_count; i++)
        finish_line(&sketch->lines[i]);
    finish_line(&sketch->call);
    if (sketch->kind_count)
        qsort(sketch->kinds, sketch->kind_count, sizeof *sketch->kinds, by_hash);
}

// Making a sketch.

static rk_err *copy(rk_span text, char **out_text) {
    *out_text = rk_strndup(text.len ? (const char *)text.data : "", text.len);
    return *out_text ? NULL : rk_err_no_memory();
}

static rk_err *make_value(const rk_program_index *index, uint32_t value, rk_span name,
                          rk_sketch_value *out_value) {
    RK_AUTO(rk_buf) type = RK_BUF_INIT(1 << 16);
    if (value != RK_NO_ID)
        rk_program_index_write_type(index->model, index->model->values.items[value].type, &type);
    RK_TRY(copy(name, &out_value->name));
    return copy(rk_buf_span(&type), &out_value->type);
}

static rk_err *make_values(const rk_program_index *index, rk_sketch *sketch) {
    uint32_t inputs = index->parameter_count, results = index->result_count;
    inputs = inputs < RK_SKETCH_VALUES_MAX ? inputs : RK_SKETCH_VALUES_MAX;
    results = results < RK_SKETCH_VALUES_MAX ? results : RK_SKETCH_VALUES_MAX;
    sketch->inputs = rk_calloc((size_t)inputs + 1, sizeof *sketch->inputs);
    sketch->results = rk_calloc((size_t)results + 1, sizeof *sketch->results);
    if (!sketch->inputs || !sketch->results)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < inputs; i++) {
        sketch->input_count++;
        RK_TRY(make_value(index, index->parameters[i].value, index->parameters[i].name,
                          &sketch->inputs[i]));
    }
    for (uint32_t i = 0; i < results; i++) {
        sketch->result_count++;
        RK_TRY(make_value(index, index->results[i], (rk_span){0}, &sketch->results[i]));
    }
    return NULL;
}

// Counts the items of each kind. Sorts them first, so that equal kinds are adjacent.
static rk_err *make_kinds(const rk_program_index *index, rk_sketch *sketch) {
    rk_sketch_kind *kinds = rk_malloc(((size_t)index->item_count + 1) * sizeof *kinds);
    if (!kinds)
        return rk_err_no_memory();
    sketch->kinds = kinds;
    sketch->structure = RK_HASH_SEED;
    for (uint32_t i = 0; i < index->item_count; i++) {
        kinds[i] = (rk_sketch_kind){(uint32_t)index->items[i].kind, 1};
        sketch->structure = rk_hash_mix(sketch->structure, index->items[i].kind);
    }
    if (index->item_count)
        qsort(kinds, index->item_count, sizeof *kinds, by_hash);
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->item_count; i++) {
        if (count && kinds[count - 1].hash == kinds[i].hash)
            kinds[count - 1].count++;
        else if (count < RK_SKETCH_KINDS_MAX)
            kinds[count++] = kinds[i];
    }
    sketch->kind_count = count;
    return NULL;
}

typedef struct counted {
    rk_source place;
    uint32_t count;
} counted;

static int most_first(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int order = rk_span_compare(x->place.file, y->place.file);
    return order ? order : x->place.line < y->place.line ? -1 : x->place.line > y->place.line;
}

static rk_err *make_line(const rk_source *place, uint32_t count, rk_sketch_line *out_line) {
    *out_line = (rk_sketch_line){.line = place->line, .count = count};
    RK_TRY(copy(place->file, &out_line->file));
    return copy(place->function, &out_line->function);
}

// Hash table of lines, with twice as many slots as lines. Lines beyond LINES_COUNTED_MAX are left
// out.
enum { LINE_SLOTS = 4096, LINES_COUNTED_MAX = 2048 };

static uint32_t count_lines(const rk_program_index *index, counted *table) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < index->item_count; i++) {
        rk_source place;
        if (!rk_program_index_source(index, index->items[i].op, &place))
            continue;
        uint64_t hash = rk_hash_mix(rk_hash_span(RK_HASH_SEED, place.file), place.line);
        uint32_t at = (uint32_t)hash % LINE_SLOTS;
        while (table[at].count && !rk_source_same_line(&table[at].place, &place))
            at = (at + 1) % LINE_SLOTS;
        if (!table[at].count && used == LINES_COUNTED_MAX)
            continue;
        used += table[at].count == 0;
        table[at].place = place;
        table[at].count++;
    }
    return used;
}

static rk_err *make_lines(const rk_program_index *index, rk_sketch *sketch) {
    rk_autofree counted *table = rk_calloc(LINE_SLOTS, sizeof *table);
    if (!table)
        return rk_err_no_memory();
    uint32_t used = count_lines(index, table);
    qsort(table, LINE_SLOTS, sizeof *table, most_first);
    used = used < RK_SKETCH_LINES_MAX ? used : RK_SKETCH_LINES_MAX;
    sketch->lines = rk_calloc((size_t)used + 1, sizeof *sketch->lines);
    if (!sketch->lines)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < used; i++) {
        sketch->line_count++;
        RK_TRY(make_line(&table[i].place, table[i].count, &sketch->lines[i]));
    }
    return make_line(&index->call, 0, &sketch->call);
}

// The innermost frame of a location, of any owner. False if it has none.
static bool inner_of(const rk_program_index *index, uint32_t location, rk_source *out_place) {
    return location != RK_NO_ID &&
           rk_source_frames(index->model, location, RK_FILE_FRAMEWORK, out_place, 1) == 1;
}

static rk_sketch_inner inner_hashes(const rk_source *place) {
    rk_span part = rk_file_installed_part(place->file);
    uint64_t file = rk_hash_span(RK_HASH_SEED, part.len ? part : place->file);
    return (rk_sketch_inner){.line = (uint32_t)rk_hash_mix(file, place->line),
                             .function = (uint32_t)rk_hash_span(file, place->function),
                             .count = 1};
}

static int most_inner_first(const void *a, const void *b) {
    const rk_sketch_inner *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

// Counts the operations of each innermost position, except that of the call.
static rk_err *make_inner(const rk_program_index *index, rk_sketch *sketch) {
    rk_source place;
    bool has_call = inner_of(index, index->call_location, &place);
    rk_sketch_inner call = has_call ? inner_hashes(&place) : (rk_sketch_inner){0};
    rk_autofree rk_sketch_inner *list = rk_calloc(LINES_COUNTED_MAX, sizeof *list);
    sketch->inner = rk_calloc(RK_SKETCH_INNER_MAX, sizeof *sketch->inner);
    if (!list || !sketch->inner)
        return rk_err_no_memory();
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->item_count; i++) {
        if (!inner_of(index, index->model->ops.items[index->items[i].op].location, &place))
            continue;
        rk_sketch_inner one = inner_hashes(&place);
        uint32_t at = 0;
        while (at < count && list[at].line != one.line)
            at++;
        if (at == LINES_COUNTED_MAX || (has_call && one.line == call.line))
            continue;
        one.count += list[at].count;
        list[at] = one;
        count += at == count;
    }
    qsort(list, count, sizeof *list, most_inner_first);
    sketch->inner_count = count < RK_SKETCH_INNER_MAX ? count : RK_SKETCH_INNER_MAX;
    memcpy(sketch->inner, list, sketch->inner_count * sizeof *list);
    return NULL;
}

// True if the user's source has operations outside the line of the call.
static bool has_user_lines(const rk_sketch *sketch) {
    for (uint32_t i = 0; i < sketch->line_count; i++)
        if (sketch->lines[i].hash != sketch->call.hash)
            return true;
    return false;
}

rk_err *rk_sketch_make(const rk_program_index *index, rk_sketch *out_sketch) {
    const rk_model *m = index->model;
    *out_sketch = (rk_sketch){.op_count = index->op_count};
    uint32_t name = rk_model_attr(m, &m->ops.items[0], "sym_name");
    out_sketch->is_mlir = !rk_span_is(rk_model_string(m, m->ops.items[0].name), "hlo.module");
    RK_TRY(copy(name == RK_NO_ID ? (rk_span){0} : m->nodes.items[name].bytes, &out_sketch->module));
    RK_TRY(copy(rk_span_text(m->producer ? m->producer : ""), &out_sketch->producer));
    RK_TRY(make_values(index, out_sketch));
    RK_TRY(make_kinds(index, out_sketch));
    RK_TRY(make_lines(index, out_sketch));
    rk_sketch_finish(out_sketch);
    return has_user_lines(out_sketch) ? NULL : make_inner(index, out_sketch);
}

rk_err *rk_sketch_of_program(rk_span code, rk_span format, rk_sketch *out_sketch, bool *out_made) {
    *out_made = false;
    *out_sketch = (rk_sketch){0};
    if (code.len > RK_SKETCH_PROGRAM_MAX_BYTES)
        return NULL;
    rk_model *model = NULL;
    rk_autofree char *reason = NULL;
    RK_TRY(rk_model_read(code, format, RK_READ_LOCATIONS, &model, &reason));
    if (!model)
        return NULL;
    RK_AUTO(rk_program_index) index = {0};
    rk_err *err = rk_program_index_make(model, &index);
    if (!err)
        err = rk_sketch_make(&index, out_sketch);
    rk_program_index_cleanup(&index);
    index = (rk_program_index){0};
    rk_model_free(model);
    *out_made = !err;
    return err;
}

// Writing a sketch.

static void write_values(rk_json *json, const char *key, const rk_sketch_value *values,
                         uint32_t count, bool names) {
    rk_json_key(json, key);
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < count; i++) {
        if (names) {
            rk_json_begin_array(json);
            rk_json_string(json, values[i].name);
        }
        rk_json_string(json, values[i].type);
        if (names)
            rk_json_end_array(json);
    }
    rk_json_end_array(json);
}

static void write_line(rk_json *json, const rk_sketch_line *line) {
    rk_json_begin_array(json);
    rk_json_string(json, line->file);
    rk_json_uint(json, line->line);
    rk_json_string(json, line->function);
    rk_json_uint(json, line->count);
    rk_json_end_array(json);
}

static void write_inner(rk_json *json, const rk_sketch *sketch) {
    rk_json_key(json, "inner");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < sketch->inner_count; i++) {
        rk_json_uint(json, sketch->inner[i].line);
        rk_json_uint(json, sketch->inner[i].function);
        rk_json_uint(json, sketch->inner[i].count);
    }
    rk_json_end_array(json);
}

void rk_sketch_write(const rk_sketch *sketch, rk_json *json) {
    RK_AUTO(rk_buf) structure = {0};
    rk_buf_add_format(&structure, "%016llx", (unsigned long long)sketch->structure);
    rk_json_begin_object(json);
    rk_json_member_uint(json, "v", 1);
    rk_json_member_string(json, "module", sketch->module);
    rk_json_member_string(json, "producer", sketch->producer);
    rk_json_member_bool(json, "mlir", sketch->is_mlir);
    rk_json_member_uint(json, "operations", sketch->op_count);
    rk_json_member_string(json, "structure", rk_buf_text(&structure));
    write_values(json, "inputs", sketch->inputs, sketch->input_count, true);
    write_values(json, "results", sketch->results, sketch->result_count, false);
    rk_json_key(json, "kinds");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < sketch->kind_count; i++) {
        rk_json_uint(json, sketch->kinds[i].hash);
        rk_json_uint(json, sketch->kinds[i].count);
    }
    rk_json_end_array(json);
    rk_json_key(json, "lines");
    rk_json_begin_array(json);
    for (uint32_t i = 0; i < sketch->line_count; i++)
        write_line(json, &sketch->lines[i]);
    rk_json_end_array(json);
    rk_json_key(json, "call");
    if (sketch->call.line)
        write_line(json, &sketch->call);
    else
        rk_json_null(json);
    if (sketch->inner_count)
        write_inner(json, sketch);
    rk_json_end_object(json);
}

const rk_sketch_line *rk_sketch_place(const rk_sketch *sketch) {
    if (sketch->call.line)
        return &sketch->call;
    return sketch->line_count ? &sketch->lines[0] : NULL;
}

const rk_sketch_line *rk_sketch_find_line(const rk_sketch *sketch, uint64_t hash) {
    for (uint32_t i = 0; i < sketch->line_count; i++)
        if (sketch->lines[i].hash == hash)
            return &sketch->lines[i];
    return NULL;
}

rk_source rk_sketch_source(const rk_sketch_line *line) {
    if (!line)
        return (rk_source){0};
    return (rk_source){.file = rk_span_text(line->file),
                       .function = rk_span_text(line->function),
                       .line = line->line};
}

// True if enough operations are below the call for a function of a library. Fewer may come from a
// helper of an operation.
static bool has_library_function(const rk_sketch *sketch) {
    enum { INNER_MIN = 8 };
    uint64_t below = 0;
    for (uint32_t i = 0; i < sketch->inner_count; i++)
        below += sketch->inner[i].count;
    return below >= INNER_MIN;
}

// A name with a hyphen is that of an operation, such as the derivative jit_scatter-add: no function
// of Python has one. Its operations may have the lines of the forward pass.
static bool has_name_of_operation(const rk_sketch *sketch) {
    return sketch->is_mlir && strncmp(sketch->module, "jit_", 4) == 0 &&
           strchr(sketch->module, '-') != NULL;
}

bool rk_sketch_is_eager(const rk_sketch *sketch) {
    enum { OPS_MAX = 8 }; // of an operation without any line: the frames of libraries hide the call
    if (has_name_of_operation(sketch))
        return true;
    bool has_place = sketch->call.line || (sketch->is_mlir && sketch->op_count <= OPS_MAX);
    return has_place && !has_user_lines(sketch) && !has_library_function(sketch);
}

bool rk_sketch_is_read(const rk_sketch *sketch) {
    const char *type = sketch->result_count == 1 ? sketch->results[0].type : "";
    return !sketch->is_mlir && strncmp(type, "tensor<", 7) == 0 && !strchr(type, 'x');
}

const char *rk_element_of(const char *type) {
    const char *x = strrchr(type, 'x'), *open = strchr(type, '<');
    return x ? x + 1 : open ? open + 1 : type;
}

bool rk_sketch_is_other_element(const rk_sketch_value *a, const rk_sketch_value *b) {
    return strcmp(rk_element_of(a->type), rk_element_of(b->type)) != 0;
}

size_t rk_sketch_count_type(const rk_sketch_value *values, uint32_t count, const char *type) {
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += strcmp(values[i].type, type) == 0;
    return found;
}
