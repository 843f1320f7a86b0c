// Processes without "end" event: whether they are alive, were killed, or lost executables.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "journal/read.h"

// Compares host names without their domains.
static bool is_same_host(const char *a, const char *b) {
    size_t short_len = strcspn(a, ".");
    return strcspn(b, ".") == short_len && strncmp(a, b, short_len) == 0;
}

bool rk_run_process_is_alive(const rk_run_process *process) {
    char here[256] = "";
    if (process->ended || process->pid <= 0 || process->pid > INT32_MAX ||
        gethostname(here, sizeof here - 1) != 0 || !is_same_host(process->host, here))
        return false;
    return kill((pid_t)process->pid, 0) == 0 || errno == EPERM;
}

static bool is_command(const rk_run_model *model, const rk_run_process *process) {
    return model->command.known && process->pid == model->command.pid &&
           is_same_host(process->host, model->command.host);
}

size_t rk_run_count_unknown_ends(const rk_run_model *model) {
    size_t count = 0;
    for (size_t i = 0; i < model->process_count; i++) {
        const rk_run_process *process = &model->processes[i];
        count += !process->ended && !process->incomplete && !is_command(model, process) &&
                 !rk_run_process_is_alive(process);
    }
    return count;
}

size_t rk_run_count_incomplete(const rk_run_model *model) {
    size_t count = 0;
    for (size_t i = 0; i < model->process_count; i++)
        count += model->processes[i].incomplete;
    return count;
}

// True if executables without a "stored" event are lost: the journal is complete and the process is
// gone.
static bool is_loss_known(const rk_run_process *process) {
    return !process->incomplete && !rk_run_process_is_alive(process);
}

uint64_t rk_run_count_lost(const rk_run_model *model) {
    uint64_t count = 0;
    for (size_t i = 0; i < model->process_count; i++) {
        const rk_run_process *process = &model->processes[i];
        if (process->storing > process->stored && is_loss_known(process))
            count += process->storing - process->stored;
    }
    return count;
}

bool rk_run_is_lost(const rk_run_model *model, const rk_run_compile *compile) {
    if (!compile->storing || !is_loss_known(&model->processes[compile->process]))
        return false;
    for (size_t i = 0; i < model->stored_count; i++)
        if (model->stored[i].process == compile->process &&
            strcmp(model->stored[i].key, compile->key) == 0)
            return false;
    return true;
}

rk_run_failures rk_run_count_failed(const rk_run_model *model) {
    rk_run_failures sum = {0};
    for (size_t i = 0; i < model->compile_count; i++) {
        const rk_run_compile *compile = &model->compiles[i];
        if (!compile->compiled || !compile->failed)
            continue;
        sum.count++;
        sum.compile_ns += compile->compile_ns;
    }
    return sum;
}

static bool was_compiled_before(const rk_run_model *model, const rk_run_compile *hit) {
    for (size_t i = 0; i < model->compile_count; i++) {
        const rk_run_compile *other = &model->compiles[i];
        if (other->compiled && !other->failed && other->time_ns <= hit->time_ns &&
            strcmp(other->key, hit->key) == 0)
            return true;
    }
    return false;
}

uint64_t rk_run_count_repeated(const rk_run_model *model) {
    uint64_t count = 0;
    for (size_t i = 0; i < model->compile_count; i++)
        count += model->compiles[i].outcome == RK_OUTCOME_HIT &&
                 was_compiled_before(model, &model->compiles[i]);
    return count;
}

// Returns whether the process of a hit requested the program before, and got it.
static bool was_answered_before(const rk_run_model *model, const rk_run_compile *hit) {
    for (size_t i = 0; i < model->compile_count; i++) {
        const rk_run_compile *other = &model->compiles[i];
        if (other->process == hit->process && other->seq < hit->seq && !other->failed &&
            (other->compiled || other->outcome == RK_OUTCOME_HIT) &&
            strcmp(other->key, hit->key) == 0)
            return true;
    }
    return false;
}

uint64_t rk_run_count_again(const rk_run_model *model) {
    uint64_t count = 0;
    for (size_t i = 0; i < model->compile_count; i++)
        count += model->compiles[i].outcome == RK_OUTCOME_HIT &&
                 was_answered_before(model, &model->compiles[i]);
    return count;
}
