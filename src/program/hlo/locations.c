// Reads OpMetadata and StackFrameIndexProto as locations. Ignores errors in them: locations do not
// affect the program.
#include "program/hlo/read_internal.h"

#include "base/alloc.h"

// xla/xla_data.proto: OpMetadata
enum {
    METADATA_OP_NAME = 2,
    METADATA_SOURCE_FILE = 3,
    METADATA_SOURCE_LINE = 4,
    METADATA_STACK_FRAME_ID = 15,
    METADATA_SOURCE_COLUMN = 18,
};
// xla/service/hlo.proto: StackFrameIndexProto and its parts
enum { INDEX_FILE_NAMES = 1, INDEX_FUNCTION_NAMES, INDEX_FILE_LOCATIONS, INDEX_STACK_FRAMES };
enum { LOCATION_FILE_NAME_ID = 1, LOCATION_FUNCTION_NAME_ID, LOCATION_LINE, LOCATION_COLUMN };
enum { FRAME_FILE_LOCATION_ID = 1, FRAME_PARENT_FRAME_ID = 2 };

enum { MAX_FRAMES = 256 }; // of one call chain; further outer frames are dropped

typedef struct frame {
    uint32_t node; // RK_NO_ID before first use
    uint32_t depth;
} frame;

typedef struct rk_hlo_frames {
    rk_hlo_array parts[INDEX_STACK_FRAMES + 1]; // spans, by field number
    uint32_t counts[INDEX_STACK_FRAMES + 1];
    rk_hlo_array frames;
    uint32_t unknown; // node
} rk_hlo_frames;

void rk_hlo_frames_free(rk_hlo_frames *frames) {
    if (!frames)
        return;
    for (size_t i = 0; i < RK_ARRAY_LEN(frames->parts); i++)
        rk_free(frames->parts[i].items);
    rk_free(frames->frames.items);
    rk_free(frames);
}

static bool add_part(rk_hlo_reader *reader, rk_hlo_frames *frames, const rk_proto_field *field) {
    rk_hlo_array *part = &frames->parts[field->number];
    uint32_t *count = &frames->counts[field->number];
    if (!rk_hlo_grow(reader, part, ((uint64_t)*count + 1) * sizeof(rk_span)))
        return false;
    ((rk_span *)part->items)[(*count)++] = field->bytes;
    return true;
}

static bool load_frames(rk_hlo_reader *reader) {
    rk_hlo_frames *frames = rk_calloc(1, sizeof *frames);
    if (!frames) {
        reader->model->out_of_memory = true;
        return false;
    }
    reader->frames = frames;
    rk_span rest = reader->stack_frame_index;
    rk_proto_field field;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad))
        if (field.wire == RK_PROTO_BYTES && field.number <= INDEX_STACK_FRAMES &&
            !add_part(reader, frames, &field))
            return false;
    uint64_t bytes = ((uint64_t)frames->counts[INDEX_STACK_FRAMES] + 1) * sizeof(frame);
    if (!rk_hlo_grow(reader, &frames->frames, bytes))
        return false;
    memset(frames->frames.items, 0xFF, frames->frames.capacity_bytes); // RK_NO_ID
    rk_node unknown = {.kind = RK_NODE_LOC_UNKNOWN, .name = RK_NO_ID};
    frames->unknown = rk_model_add_node(reader->model, unknown);
    return frames->unknown != RK_NO_ID;
}

// Ids start with 1. Id 0 means none.
static rk_span part_of(const rk_hlo_frames *frames, uint32_t number, uint64_t id) {
    if (!id || id > frames->counts[number])
        return (rk_span){0};
    return ((const rk_span *)frames->parts[number].items)[id - 1];
}

static uint64_t number_of(rk_span message, uint32_t number) {
    rk_proto_field field;
    uint64_t value = 0;
    bool bad;
    while (rk_hlo_next(&message, &field, &bad))
        if (field.number == number && field.wire == RK_PROTO_VARINT)
            value = (uint32_t)field.value;
    return value;
}

static uint32_t add_location(rk_hlo_reader *reader, rk_node node, uint32_t first, uint32_t second) {
    uint32_t mark = reader->pending_count;
    if (first != RK_NO_ID && !rk_hlo_push(reader, RK_NO_ID, first))
        return RK_NO_ID;
    if (second != RK_NO_ID && !rk_hlo_push(reader, RK_NO_ID, second))
        return RK_NO_ID;
    node.name = RK_NO_ID;
    return rk_hlo_add_node(reader, node, mark);
}

static uint32_t add_file(rk_hlo_reader *reader, rk_span path, uint64_t line, uint64_t column) {
    rk_node file = {.kind = RK_NODE_LOC_FILE, .value = line << 32 | column, .bytes = path};
    return add_location(reader, file, RK_NO_ID, RK_NO_ID);
}

// Adds one frame without its callers.
static uint32_t add_frame(rk_hlo_reader *reader, uint32_t frame_id) {
    const rk_hlo_frames *frames = reader->frames;
    rk_span message = part_of(frames, INDEX_STACK_FRAMES, frame_id);
    rk_span place =
        part_of(frames, INDEX_FILE_LOCATIONS, number_of(message, FRAME_FILE_LOCATION_ID));
    rk_span path = part_of(frames, INDEX_FILE_NAMES, number_of(place, LOCATION_FILE_NAME_ID));
    rk_span function =
        part_of(frames, INDEX_FUNCTION_NAMES, number_of(place, LOCATION_FUNCTION_NAME_ID));
    uint32_t file =
        add_file(reader, path, number_of(place, LOCATION_LINE), number_of(place, LOCATION_COLUMN));
    if (!function.len || file == RK_NO_ID)
        return file;
    rk_node name = {.kind = RK_NODE_LOC_NAME, .bytes = function};
    return add_location(reader, name, file, RK_NO_ID);
}

// Adds a frame with its callers. Walks outwards to the first known frame, then back.
static uint32_t resolve_frame(rk_hlo_reader *reader, uint32_t frame_id) {
    const rk_hlo_frames *frames = reader->frames;
    frame *known = frames->frames.items;
    uint32_t count = frames->counts[INDEX_STACK_FRAMES], chain[MAX_FRAMES], length = 0;
    uint32_t caller = RK_NO_ID, depth = 0;
    for (uint32_t id = frame_id; id && id <= count && length < MAX_FRAMES;) {
        if (known[id - 1].node != RK_NO_ID && known[id - 1].depth < MAX_FRAMES) {
            caller = known[id - 1].node;
            depth = known[id - 1].depth;
            break;
        }
        chain[length++] = id;
        id = (uint32_t)number_of(part_of(frames, INDEX_STACK_FRAMES, id), FRAME_PARENT_FRAME_ID);
    }
    while (length) {
        uint32_t id = chain[--length], node = add_frame(reader, id);
        if (node == RK_NO_ID)
            return RK_NO_ID;
        rk_node call = {.kind = RK_NODE_LOC_CALL};
        if (caller != RK_NO_ID)
            node = add_location(reader, call, node, caller);
        depth = depth < MAX_FRAMES ? depth + 1 : 1;
        known[id - 1] = (frame){node, depth};
        caller = node;
    }
    return caller;
}

static uint32_t add_metadata(rk_hlo_reader *reader, rk_span metadata) {
    rk_proto_field field;
    rk_span op_name = {0}, source_file = {0}, rest = metadata;
    bool bad;
    while (rk_hlo_next(&rest, &field, &bad)) {
        if (field.number == METADATA_OP_NAME)
            op_name = field.bytes;
        else if (field.number == METADATA_SOURCE_FILE)
            source_file = field.bytes;
    }
    uint64_t frame_id = number_of(metadata, METADATA_STACK_FRAME_ID);
    uint32_t place = RK_NO_ID;
    if (frame_id)
        place = resolve_frame(reader, (uint32_t)frame_id);
    if (place == RK_NO_ID && source_file.len)
        place = add_file(reader, source_file, number_of(metadata, METADATA_SOURCE_LINE),
                         number_of(metadata, METADATA_SOURCE_COLUMN));
    if (!op_name.len)
        return place;
    rk_node name = {.kind = RK_NODE_LOC_NAME, .bytes = op_name};
    return add_location(reader, name, place == RK_NO_ID ? reader->frames->unknown : place,
                        RK_NO_ID);
}

uint32_t rk_hlo_read_location(rk_hlo_reader *reader, rk_span metadata) {
    static const char owner;
    rk_hlo_memo *slot;
    if (!(reader->flags & RK_READ_LOCATIONS) || !metadata.len)
        return RK_NO_ID;
    if (!reader->frames && !load_frames(reader))
        return RK_NO_ID;
    if (reader->model->out_of_memory) // reading the frames may have used up the memory
        return RK_NO_ID;
    if (rk_hlo_find(reader, &owner, metadata, 0, &slot))
        return slot->id;
    uint32_t id = add_metadata(reader, metadata);
    rk_hlo_remember(slot, &owner, metadata, 0, id);
    return id;
}
