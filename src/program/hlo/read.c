#include "program/hlo/read.h"

#include "program/hlo/quick.h"

// xla/service/hlo.proto
enum {
    MODULE_NAME = 1,
    MODULE_COMPUTATIONS = 3,
    MODULE_ENTRY_COMPUTATION_ID = 6,
    MODULE_SCHEDULE = 7,
    MODULE_STACK_FRAME_INDEX = 17,
};
enum {
    COMPUTATION_NAME = 1,
    COMPUTATION_INSTRUCTIONS = 2,
    COMPUTATION_ID = 5,
    COMPUTATION_ROOT_ID = 6,
};
enum { INSTRUCTION_ID = 35, INSTRUCTION_CALLED_COMPUTATION_IDS = 38 };
enum { SCHEDULE_SEQUENCES = 1, SEQUENCE_COMPUTATION_ID = 1, SEQUENCE_INSTRUCTIONS = 2 };
enum { PAIR_MODULE = 1, PAIR_CONFIG = 2 };

static const char NO_PROTOBUF[] = "not a valid protobuf message";

// The first pass: collects ids and calls.

static bool add_id(rk_hlo_reader *reader, rk_hlo_array *ids, uint32_t *count, int64_t id) {
    if (*count == RK_NO_ID - 1)
        return rk_hlo_fail(reader, "the program has too many instructions");
    if (!rk_hlo_grow(reader, ids, ((uint64_t)*count + 1) * sizeof id))
        return false;
    ((int64_t *)ids->items)[(*count)++] = id;
    return true;
}

// Returns the id of an instruction that calls no computation and has no custom-call target,
// configuration or host transfer. False for other instructions, and for fields that are not of a
// common kind.
static bool scan_plain(rk_span message, uint64_t *out_id) {
    const uint8_t *at = message.data, *end = at + message.len;
    rk_hlo_step step;
    *out_id = 0;
    while (at && at < end) {
        at = rk_hlo_step_over(at, end, &step);
        if (!at || step.number == INSTRUCTION_CALLED_COMPUTATION_IDS ||
            step.number == RK_HLO_CUSTOM_CALL_TARGET || step.number == RK_HLO_BACKEND_CONFIG ||
            step.number == RK_HLO_IS_HOST_TRANSFER)
            return false;
        if (step.number == INSTRUCTION_ID &&
            (step.wire != RK_PROTO_VARINT || !rk_hlo_take_number(step.value, end, out_id)))
            return false;
    }
    return true;
}

static bool scan_instruction(rk_hlo_reader *reader, rk_span message) {
    rk_proto_field field;
    rk_traits_instruction traits = {.is_host_transfer = false};
    uint64_t id, called;
    bool bad;
    if (message.len && scan_plain(message, &id))
        return add_id(reader, &reader->instruction_ids, &reader->instruction_count, (int64_t)id);
    id = 0;
    while (rk_hlo_next(&message, &field, &bad)) {
        if (field.number == INSTRUCTION_ID)
            id = field.value;
        else
            rk_traits_note_hlo(&traits, &field);
        if (field.number != INSTRUCTION_CALLED_COMPUTATION_IDS)
            continue;
        rk_hlo_numbers numbers = rk_hlo_numbers_of(&field);
        while (rk_hlo_next_number(&numbers, &called))
            if (!add_id(reader, &reader->calls, &reader->call_count, (int64_t)called))
                return false;
        if (numbers.bad)
            return rk_hlo_fail(reader, "packed numbers are damaged");
    }
    if (bad)
        return rk_hlo_fail(reader, NO_PROTOBUF);
    rk_traits_see_hlo(&reader->traits, &traits);
    reader->has_custom_call |= traits.target.len != 0;
    return add_id(reader, &reader->instruction_ids, &reader->instruction_count, (int64_t)id);
}

static bool scan_computation(rk_hlo_reader *reader, rk_span message) {
    rk_hlo_computation computation = {.message = message,
                                      .first_instruction = reader->instruction_count,
                                      .first_call = reader->call_count};
    rk_proto_field field;
    rk_span rest = message;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad)) {
        if (field.number == COMPUTATION_NAME)
            computation.name = field.bytes;
        else if (field.number == COMPUTATION_ID)
            computation.id = (int64_t)field.value;
        else if (field.number == COMPUTATION_ROOT_ID)
            computation.root_id = (int64_t)field.value;
        else if (field.number == COMPUTATION_INSTRUCTIONS &&
                 (field.wire != RK_PROTO_BYTES || !scan_instruction(reader, field.bytes)))
            return rk_hlo_fail(reader, NO_PROTOBUF);
    }
    if (bad)
        return rk_hlo_fail(reader, NO_PROTOBUF);
    computation.instruction_count = reader->instruction_count - computation.first_instruction;
    computation.next_call = computation.first_call;
    computation.end_call = reader->call_count;
    uint64_t needed = ((uint64_t)reader->computation_count + 1) * sizeof computation;
    if (!rk_hlo_grow(reader, &reader->computations, needed))
        return false;
    ((rk_hlo_computation *)reader->computations.items)[reader->computation_count++] = computation;
    return true;
}

typedef struct module_facts {
    rk_span name;
    rk_span schedule;
    unsigned schedules; // how many there are
} module_facts;

static bool scan_module(rk_hlo_reader *reader, rk_span message, module_facts *out_module) {
    rk_proto_field field;
    bool bad;
    *out_module = (module_facts){0};
    while (rk_hlo_next(&message, &field, &bad)) {
        switch (field.number) {
        case MODULE_NAME:
            out_module->name = field.bytes;
            break;
        case MODULE_COMPUTATIONS:
            if (field.wire != RK_PROTO_BYTES)
                return rk_hlo_fail(reader, NO_PROTOBUF);
            if (!scan_computation(reader, field.bytes))
                return false;
            break;
        case MODULE_ENTRY_COMPUTATION_ID:
            reader->entry_computation_id = (int64_t)field.value;
            break;
        case MODULE_SCHEDULE:
            out_module->schedule = field.bytes;
            out_module->schedules++;
            break;
        case MODULE_STACK_FRAME_INDEX:
            reader->stack_frame_index = field.bytes;
            break;
        default: // read by its definition later
            break;
        }
    }
    if (bad)
        return rk_hlo_fail(reader, NO_PROTOBUF);
    if (out_module->schedules > 1)
        return rk_hlo_fail(reader, "a singular message field occurs twice");
    return reader->computation_count || rk_hlo_fail(reader, "the module has no computations");
}

// Instructions refer to computations by name in the model, so names must be unique.
static bool check_names(rk_hlo_reader *reader) {
    enum { INTERNED_BYTES = 96 };
    const rk_hlo_computation *computations = reader->computations.items;
    uint32_t count = reader->computation_count;
    rk_interner names = {0};
    bool is_new = true;
    if (!rk_model_take_budget(reader->model, (size_t)count * INTERNED_BYTES))
        return false;
    for (uint32_t i = 0; i < count && is_new; i++)
        (void)rk_intern(&names, computations[i].name, &is_new);
    reader->model->out_of_memory |= names.failed;
    rk_interner_cleanup(&names);
    reader->model->budget_bytes += (size_t)count * INTERNED_BYTES;
    return is_new || rk_hlo_fail(reader, "two computations have the same name");
}

static bool read_sequence(rk_hlo_reader *reader, rk_span entry) {
    rk_hlo_computation *computations = reader->computations.items;
    rk_proto_field field;
    rk_span instructions = {0};
    uint64_t id = 0;
    uint32_t index;
    bool bad;
    while (rk_hlo_next(&entry, &field, &bad)) {
        if (field.number == SEQUENCE_COMPUTATION_ID)
            id = field.value;
        else if (field.number == SEQUENCE_INSTRUCTIONS)
            instructions = field.bytes;
        else
            rk_model_count_opaque(reader->model, "a schedule has a field that is not known");
    }
    if (bad)
        return rk_hlo_fail(reader, NO_PROTOBUF);
    if (!rk_hlo_computation_of(reader, (int64_t)id, &index))
        return false;
    computations[index].schedule = instructions;
    computations[index].is_scheduled = true;
    return true;
}

// HloScheduleProto. Attaches each computation's instruction order to the computation.
static bool read_schedule(rk_hlo_reader *reader, rk_span schedule) {
    rk_proto_field field;
    bool bad;
    while (rk_hlo_next(&schedule, &field, &bad)) {
        if (field.number != SCHEDULE_SEQUENCES)
            rk_model_count_opaque(reader->model, "a schedule has a field that is not known");
        else if (!read_sequence(reader, field.bytes))
            return false;
    }
    return !bad || rk_hlo_fail(reader, NO_PROTOBUF);
}

static bool push_module_attrs(rk_hlo_reader *reader, const module_facts *module, rk_span message,
                              rk_span config) {
    rk_node unit = {.kind = RK_NODE_UNIT, .name = RK_NO_ID};
    if (!rk_hlo_read_fields(reader, &rk_hlo_module_fields, message, 0, NULL, NULL))
        return false;
    if (module->name.len && !rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_SYM_NAME),
                                         rk_hlo_add_string(reader, module->name)))
        return false;
    if (module->schedules && !rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_SCHEDULE),
                                          rk_model_add_node(reader->model, unit)))
        return false;
    return !config.data ||
           rk_hlo_push(reader, rk_hlo_word(reader, RK_HLO_CONFIG),
                       rk_hlo_read_message(reader, &rk_hlo_config_fields, config, 0));
}

static bool read_module(rk_hlo_reader *reader, rk_span message, rk_span config) {
    rk_model *model = reader->model;
    module_facts module;
    if (!scan_module(reader, message, &module) || !check_names(reader) ||
        !rk_hlo_index_computations(reader) || !rk_hlo_find_order(reader) ||
        !read_schedule(reader, module.schedule) ||
        !push_module_attrs(reader, &module, message, config))
        return false;
    rk_op op = {.name = rk_hlo_word(reader, RK_HLO_MODULE),
                .location = RK_NO_ID,
                .first_region = rk_model_add_regions(model, 1),
                .region_count = 1};
    op.first_attr = rk_hlo_take_attrs(reader, 0, &op.attr_count);
    uint32_t block = rk_model_add_blocks(model, 1);
    if (reader->has_custom_call)
        rk_traits_see_hlo_payloads(&reader->traits, message);
    if (op.first_attr == RK_NO_ID || op.first_region == RK_NO_ID || block == RK_NO_ID ||
        rk_model_add_op(model, op) == RK_NO_ID)
        return false;
    model->regions.items[op.first_region] = (rk_region){block, 1};
    if (reader->canon)
        rk_canon_put_head(reader->canon);
    const rk_hlo_computation *computations = reader->computations.items;
    const uint32_t *order = reader->order.items;
    for (uint32_t i = 0; i < reader->order_count; i++) {
        bool is_entry = computations[order[i]].id == reader->entry_computation_id;
        if (!rk_hlo_read_computation(reader, order[i], is_entry))
            return false;
    }
    model->blocks.items[block].first_op = 1;
    model->blocks.items[block].end_op = model->ops.count;
    model->ops.items[0].end = model->ops.count;
    return true;
}

// HloModuleProtoWithConfig
static bool split_pair(rk_hlo_reader *reader, rk_span pair, rk_span *out_module,
                       rk_span *out_config) {
    rk_proto_field field;
    bool bad;
    unsigned modules = 0, configs = 0;
    while (rk_hlo_next(&pair, &field, &bad)) {
        if (field.number == PAIR_MODULE && field.wire == RK_PROTO_BYTES) {
            *out_module = field.bytes;
            modules++;
        } else if (field.number == PAIR_CONFIG && field.wire == RK_PROTO_BYTES) {
            *out_config = field.bytes;
            configs++;
        } else {
            rk_model_count_opaque(reader->model, "an HLO message has a field that is not known");
        }
    }
    if (bad)
        return rk_hlo_fail(reader, NO_PROTOBUF);
    return (modules == 1 && configs <= 1) ||
           rk_hlo_fail(reader, "expected exactly one module and at most one configuration");
}

static void reader_cleanup(rk_hlo_reader *reader) {
    rk_hlo_array *arrays[] = {
        &reader->memo,  &reader->pending,         &reader->scratch,      &reader->computations,
        &reader->calls, &reader->instruction_ids, &reader->ordinals,     &reader->computation_ids,
        &reader->order, &reader->attrs_memo,      &reader->attrs_fields, &reader->same,
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(arrays); i++)
        rk_hlo_shrink(reader, arrays[i]);
    rk_hlo_frames_free(reader->frames);
    reader->frames = NULL;
}

rk_err *rk_read_hlo(rk_span code, bool with_config, unsigned flags, rk_model *model,
                    rk_canon *canon, bool *out_good, rk_buf *out_reason) {
    rk_hlo_reader reader = {.model = model, .canon = canon, .flags = flags};
    rk_span module = code, config = {0};
    *out_good = rk_hlo_prepare(&reader, code.len) &&
                (!with_config || split_pair(&reader, code, &module, &config)) &&
                read_module(&reader, module, config);
    // A program that is only too large must not be reported as bad.
    if (canon) {
        canon->traits = reader.traits;
        canon->has_traits = *out_good;
    }
    if (canon && canon->failed)
        model->out_of_memory = true;
    if (!*out_good && !model->out_of_memory)
        rk_buf_add_text(out_reason, reader.reason ? reader.reason : "the program is damaged");
    if (model->out_of_memory)
        *out_good = false;
    reader_cleanup(&reader);
    return NULL;
}
