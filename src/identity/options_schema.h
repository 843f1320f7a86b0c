// The fields of CompileOptionsProto and of every message reachable from it, as data. Private to
// src/identity. options_schema.py generates the table.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

typedef enum rk_schema_kind {
    RK_SCHEMA_INT, // int32, int64: the wire carries two's complement in 64 bits
    RK_SCHEMA_UINT,
    RK_SCHEMA_BOOL,
    RK_SCHEMA_ENUM,
    RK_SCHEMA_FLOAT,
    RK_SCHEMA_DOUBLE,
    RK_SCHEMA_STRING,
    RK_SCHEMA_BYTES,
    RK_SCHEMA_MESSAGE,
    RK_SCHEMA_MAP, // repeated messages of a key (1) and a value (2), in random order on the wire
} rk_schema_kind;

enum {
    RK_SCHEMA_REPEATED = 1,
    RK_SCHEMA_PRESENCE = 2,     // a field set to its default differs from an unset field
    RK_SCHEMA_DROP = 4,         // left out of keys; docs/keys.md gives the reasons
    RK_SCHEMA_FLAG_NAMES = 8,   // a map whose keys are names of DebugOptions fields
    RK_SCHEMA_ENTRY_KEY = 16,   // the key of a map entry; the entry's path contains it already
    RK_SCHEMA_ENTRY_VALUE = 32, // the value of a map entry
};

typedef struct rk_schema_message rk_schema_message;

typedef struct rk_schema_field {
    uint16_t number;
    uint8_t kind;
    uint8_t flags;
    const char *name;
    const rk_schema_message *message; // of a MESSAGE, or of the entries of a MAP
} rk_schema_field;

struct rk_schema_message {
    const rk_schema_field *fields; // by ascending number
    uint16_t count;
};

extern const rk_schema_message rk_schema_compile_options;
extern const rk_schema_message rk_schema_debug_options;

// True if the XLA flag `name` ("xla_dump_to", without dashes) is a DebugOptions field that is left
// out of keys.
bool rk_schema_drops_flag(rk_span name);
