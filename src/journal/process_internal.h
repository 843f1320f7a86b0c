// Describes this process for its "start" event. Inside src/journal only.
#pragma once

#include <stdint.h>

#include "base/json.h"

// Returns the rank: the first of RANK, JAX_PROCESS_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID
// and TPU_WORKER_ID that is a number below a billion; else 0.
uint32_t rk_process_rank(void);

// Adds the members "pid", "host", "executable", "argv" (secrets hidden) and, if arguments do not
// fit, "argv_cut". Omits members that the system does not report. May block on /proc.
RK_NODISCARD rk_err *rk_process_describe(rk_json *json);
