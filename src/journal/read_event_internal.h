// One line of a journal into the model. Inside src/journal only.
#pragma once

#include "journal/read.h"

enum { RK_RUN_MAX_EVENTS = 1 << 22, RK_RUN_MAX_PROCESSES = 65536 };

// A model under construction: the arrays' capacities, which the model itself does not carry.
typedef struct rk_run_builder {
    rk_run_model *model;
    size_t process; // whose file is being read
    size_t events;  // of all processes so far
    size_t process_capacity, client_capacity, compile_capacity, stored_capacity, verified_capacity,
        memory_capacity, warning_capacity, unwatched_capacity, step_capacity, executed_capacity;
} rk_run_builder;

// Makes room for one more element of `size` bytes, zeroed: the array, perhaps moved (owned:
// rk_free). NULL when memory is short; the old array stays as it was.
RK_NODISCARD void *rk_run_grow(void *items, size_t count, size_t *capacity, size_t size);

// Adds what the line says. A line that is no journal line is counted, not an error; `unended` says
// that it has no newline. Errors: no memory, or RK_OUT_OF_RANGE.
RK_NODISCARD rk_err *rk_run_add_line(rk_run_builder *builder, rk_span line, bool unended);

// The journals of a run, sorted into `processes` of a zeroed model: rank and file, nothing read
// yet. `*out_directory` is the run's, owned: rk_free. Errors as of rk_run_load.
RK_NODISCARD rk_err *rk_run_list_files(const char *store_directory, const char *run,
                                       rk_run_model *out_model, char **out_directory);

// Makes texts that nothing gave "", and what follows from the processes.
RK_NODISCARD rk_err *rk_run_fill_texts(rk_run_model *model);
void rk_run_sum_processes(rk_run_model *model);
