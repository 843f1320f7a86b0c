// Adds lines of a journal to the model of a run. Inside src/journal only.
#pragma once

#include "journal/read.h"

enum { RK_RUN_MAX_EVENTS = 1 << 22, RK_RUN_MAX_PROCESSES = 65536 };

// A model under construction, with the capacities of its arrays.
typedef struct rk_run_builder {
    rk_run_model *model;
    size_t process; // index of the process whose file is being read
    size_t events;  // read so far, of all processes
    size_t process_capacity, client_capacity, compile_capacity, stored_capacity, verified_capacity,
        memory_capacity, warning_capacity, unwatched_capacity, step_capacity, executed_capacity;
} rk_run_builder;

// Returns the array with space for one more element of `size` bytes, zeroed; may move the array
// (owned: rk_free). NULL: no memory, and the old array stays valid.
RK_NODISCARD void *rk_run_grow(void *items, size_t count, size_t *capacity, size_t size);

// Adds one line to the model. A line that is not a journal line is counted and is no error.
// `unended`: the line has no newline. Errors: no memory, or RK_OUT_OF_RANGE.
RK_NODISCARD rk_err *rk_run_add_line(rk_run_builder *builder, rk_span line, bool unended);

// Lists the journals of a run, sorted, as `processes` of a zeroed model. Sets rank and file only;
// reads no journal. `*out_directory` is the run's directory, owned: rk_free. Errors as for
// rk_run_load.
RK_NODISCARD rk_err *rk_run_list_files(const char *store_directory, const char *run,
                                       rk_run_model *out_model, char **out_directory);

// Sets missing texts to "".
RK_NODISCARD rk_err *rk_run_fill_texts(rk_run_model *model);
// Computes start_ns, last_ns, ended and counts of the model from its processes.
void rk_run_sum_processes(rk_run_model *model);
