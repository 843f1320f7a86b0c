// What a process says of itself in its "start" event. Inside src/journal only.
#pragma once

#include <stdint.h>

#include "base/json.h"

// From RANK, JAX_PROCESS_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID, TPU_WORKER_ID: the first
// that is a number below a billion; else 0.
uint32_t rk_process_rank(void);

// Members "pid", "host", "executable", "argv" (secrets hidden) and, if arguments had to be left
// out, "argv_cut". What cannot be found out is left out. May block on /proc.
RK_NODISCARD rk_err *rk_process_describe(rk_json *json);
