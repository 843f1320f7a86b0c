// Which program an executable runs: numbers for the distinct programs of this process, and the
// executables that are alive. Inside steps.c alone, under its lock.
#pragma once

#include "identity/key.h"

typedef struct rk_known_program {
    rk_digest key; // all zero: none
    bool has_key;
    bool has_telling_name; // the user's, and not the framework's with a number to it
    uint32_t name;         // a number for it, less than 2³¹
    uint64_t executions, written;
} rk_known_program;

typedef struct rk_programs {
    rk_known_program *items; // owned
    uint32_t count, capacity;
    uint32_t *by_key; // owned; open addressing, one more than the number; 0: empty
    uint32_t key_slots;
    struct rk_executable_slot {
        uint64_t handle; // 0: empty; 1: was removed
        uint32_t program;
    } * executables; // owned; open addressing
    uint32_t executable_slots, executable_used;
} rk_programs;
void rk_programs_cleanup(rk_programs *programs);

#define RK_NO_PROGRAM UINT32_MAX

// The number of the program with that key and name, which may be new; with `key` NULL it is always
// new. RK_NO_PROGRAM when memory is short.
uint32_t rk_programs_add(rk_programs *programs, const rk_digest *key, const char *name);

// The number of a name, as in rk_known_program.
uint32_t rk_programs_number_of(const char *name);

// From now on that executable (not 0 or 1) runs that program. False when memory is short.
bool rk_programs_bind(rk_programs *programs, uint64_t handle, uint32_t program);
void rk_programs_unbind(rk_programs *programs, uint64_t handle);

// RK_NO_PROGRAM if nothing is known of it.
uint32_t rk_programs_of(const rk_programs *programs, uint64_t handle);
