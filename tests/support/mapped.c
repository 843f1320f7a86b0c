#include "support/mapped.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

size_t rk_mapped_bytes(const void *address) {
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        abort();
    unsigned long start, end;
    char line[512], mode[8];
    size_t bytes = 0;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && (uintptr_t)address >= start &&
            (uintptr_t)address < end && mode[1] == 'w')
            bytes = end - start;
    (void)fclose(maps);
    return bytes;
}
