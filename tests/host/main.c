#include "host/host.h"

#include <stdlib.h>

int main(int argc, char **argv) {
    static host h = {.thread = -1};
    size_t first = 1;
    if (argc > 2 && strcmp(argv[1], "--lib") == 0) {
        host_lib(&h, argv[2]);
        first = 3;
    }
    if ((size_t)argc <= first && first == 1)
        host_usage("usage: pjrt_host [--lib PLUGIN] WORD…");
    if (!h.failed)
        host_run(&h, argv + first, (size_t)argc - first);
    rk_buf_cleanup(&h.serialized);
    return h.failed ? 1 : 0;
}
