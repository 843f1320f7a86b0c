// Words that misuse the plugin, to check that the fake plugin detects it.
#include "host/host.h"

#include <stdlib.h>
#include <time.h>

static void misuse_executable(host *h) {
    PJRT_LoadedExecutable_Destroy_Args args =
        HOST_ARGS(PJRT_LoadedExecutable_Destroy_Args,
                  .executable = h->executables[host_pick_executable(h, "")]);
    (void)h->api->PJRT_LoadedExecutable_Destroy(&args);
    (void)h->api->PJRT_LoadedExecutable_Destroy(&args);
}

static void misuse_client(host *h) {
    PJRT_Client *client = host_current_client(h);
    host_destroy_client(h, "");
    PJRT_Client_PlatformName_Args args = HOST_ARGS(PJRT_Client_PlatformName_Args, .client = client);
    (void)h->api->PJRT_Client_PlatformName(&args);
}

// Uses an executable after its client was destroyed.
static void misuse_orphan(host *h) {
    host_destroy_client(h, "");
    host_inspect(h, "");
}

static void *compile_slowly(void *untyped) {
    host_compile(untyped, "name=slow sleep_ms=3000");
    return NULL;
}

// Exits while another thread is inside the plugin.
static void misuse_teardown(host *h) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, compile_slowly, h) != 0)
        host_usage("no thread");
    struct timespec rest = {.tv_nsec = 300000000};
    (void)nanosleep(&rest, NULL);
    exit(0);
}

void host_misuse(host *h, const char *value) {
    if (strcmp(value, "executable") == 0)
        misuse_executable(h);
    else if (strcmp(value, "client") == 0)
        misuse_client(h);
    else if (strcmp(value, "orphan") == 0)
        misuse_orphan(h);
    else if (strcmp(value, "teardown") == 0)
        misuse_teardown(h);
    else
        host_usage("misuse=%s: executable, client, orphan, teardown", value);
}
