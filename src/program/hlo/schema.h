// The fields of HloModuleProto, HloModuleConfigProto and all messages reachable from them, as
// tables. Internal to the HLO reader (hlo/read_internal.h). schema.py writes the tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rk_hlo_kind {
    RK_HLO_INT, // signed; the wire carries two's complement in 64 bits
    RK_HLO_UINT,
    RK_HLO_BOOL,
    RK_HLO_ENUM,
    RK_HLO_FLOAT,
    RK_HLO_STRING, // or bytes
    RK_HLO_MESSAGE,
    RK_HLO_MAP,        // repeated messages with a string key (1) and a value (2), in random order
    RK_HLO_ATTRIBUTES, // FrontendAttributes: a message with one map, read as that map
    RK_HLO_SHAPE,      // ShapeProto, read as a type
    RK_HLO_OWN,        // the code that reads the message reads this field itself
    RK_HLO_DROP,       // debug information: ignored
} rk_hlo_kind;

typedef struct rk_hlo_message rk_hlo_message;

typedef struct rk_hlo_enum_value {
    int32_t number;
    const char *name;
} rk_hlo_enum_value;

typedef struct rk_hlo_enum {
    const char *name;
    const rk_hlo_enum_value *values; // by ascending number
    uint16_t count;
    uint16_t name_id; // unique per name in the tables, less than RK_HLO_MAX_NAMES
} rk_hlo_enum;

typedef struct rk_hlo_field {
    uint16_t number;
    uint8_t kind;  // rk_hlo_kind
    uint8_t width; // bits, of numbers
    bool repeated;
    bool presence; // set to the default differs from not set
    uint16_t name_id;
    const char *name;
    const rk_hlo_message *message; // of a message, or of a map's entry
    const rk_hlo_enum *enumeration;
} rk_hlo_field;

struct rk_hlo_message {
    const char *name;
    const rk_hlo_field *fields; // by ascending number
    const uint16_t *places;     // by number: index in `fields` plus one; 0: no such field
    uint16_t count;
    uint16_t place_count;
    uint16_t name_id;
    bool omit_empty; // empty means the same as missing
};

// Returns the definition of a field, or NULL.
static inline const rk_hlo_field *rk_hlo_field_of(const rk_hlo_message *message, uint32_t number) {
    uint16_t place = number < message->place_count ? message->places[number] : 0;
    return place ? &message->fields[place - 1] : NULL;
}

enum { RK_HLO_MAX_NAMES = 1024 };

extern const rk_hlo_message rk_hlo_module_fields;
extern const rk_hlo_message rk_hlo_computation_fields;
extern const rk_hlo_message rk_hlo_instruction_fields;
extern const rk_hlo_message rk_hlo_shape_fields;
extern const rk_hlo_message rk_hlo_config_fields;
extern const rk_hlo_message rk_hlo_metadata_fields;
extern const rk_hlo_enum rk_hlo_primitive_type;
