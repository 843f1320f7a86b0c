// Numbers the distinct programs of this process, and records the program of each live executable.
// Used only inside steps.c, under its lock.
#pragma once

#include "diagnose/steps/detect.h"
#include "identity/key.h"
#include "program/program.h"

typedef struct rk_known_program {
    rk_digest key; // all zero: none
    bool has_key;
    // Name: a hash. The name is not the user's if it has a number at its end, or is that of a
    // lambda.
    rk_step_program step;
    uint64_t executions, written;
    uint64_t rounds, last_round; // rounds in which it was executed; the last of them
} rk_known_program;

typedef struct rk_programs {
    rk_known_program *items; // owned
    uint32_t count, capacity;
    uint32_t *by_key; // owned; open addressing; holds the program's number + 1; 0: empty
    uint32_t key_slots;
    struct rk_executable_slot {
        uint64_t handle; // 0: empty; 1: removed
        uint32_t program;
    } * executables; // owned; open addressing
    uint32_t executable_slots, executable_used;
} rk_programs;
void rk_programs_cleanup(rk_programs *programs);

#define RK_NO_PROGRAM UINT32_MAX

void rk_programs_set_role(rk_step_program *step, const rk_program_role *role);

// True if one of the first `count` programs has that name, and the user gave it. `*out_is_users`:
// the user gave the name; other names distinguish no functions.
bool rk_programs_know(const rk_programs *programs, uint32_t count, const char *name,
                      bool *out_is_users);

// True for the name of a primitive that JAX runs outside of any jitted function, with a function of
// the user inside: "jit_scan". Such a name does not identify the function. Also true for the names
// that JAX gives to functions without a name.
bool rk_programs_is_anonymous(const char *name);

// True for a single operation of JAX, outside of any jitted function: "jit_multiply". `code`: the
// program as JAX sent it, with its locations. If in doubt, false.
bool rk_programs_is_operation(rk_span code, const char *name, const rk_program_role *role);

// Returns the number of the program with that key, and adds the program if it is new. If `key` is
// NULL, the program is always new. `role`: NULL if it is not known. RK_NO_PROGRAM if memory is
// short.
uint32_t rk_programs_add(rk_programs *programs, const rk_digest *key, const char *name,
                         const rk_program_role *role);

// Sets the program that the executable (not 0 or 1) runs. False if memory is short.
bool rk_programs_bind(rk_programs *programs, uint64_t handle, uint32_t program);
void rk_programs_unbind(rk_programs *programs, uint64_t handle);

// Returns the program's number; RK_NO_PROGRAM if the executable is unknown.
uint32_t rk_programs_of(const rk_programs *programs, uint64_t handle);
