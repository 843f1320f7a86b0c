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

// Returns whether a request for the same program answered a hit before.
typedef bool (*answers_fn)(const rk_run_compile *request, const rk_run_compile *hit);

// Returns whether the request compiled the program earlier, in any process of the run.
static bool compiled_before(const rk_run_compile *request, const rk_run_compile *hit) {
    return request->compiled && request->time_ns <= hit->time_ns;
}

// Returns whether the request compiled or loaded the program earlier, in the process of the hit.
static bool answered_before(const rk_run_compile *request, const rk_run_compile *hit) {
    return request->process == hit->process && request->seq < hit->seq &&
           (request->compiled || request->outcome == RK_OUTCOME_HIT);
}

static bool has_request(const rk_run_model *model, const rk_run_compile *hit, answers_fn answers) {
    for (size_t i = 0; i < model->compile_count; i++) {
        const rk_run_compile *request = &model->compiles[i];
        if (!request->failed && answers(request, hit) && strcmp(request->key, hit->key) == 0)
            return true;
    }
    return false;
}

static uint64_t count_hits(const rk_run_model *model, answers_fn answers) {
    uint64_t count = 0;
    for (size_t i = 0; i < model->compile_count; i++)
        count += model->compiles[i].outcome == RK_OUTCOME_HIT &&
                 has_request(model, &model->compiles[i], answers);
    return count;
}

uint64_t rk_run_count_repeated(const rk_run_model *model) {
    return count_hits(model, compiled_before);
}

uint64_t rk_run_count_again(const rk_run_model *model) {
    return count_hits(model, answered_before);
}
