// Parts of paths.
#include "pack/layout_internal.h"

rk_span rk_layout_take_part(const char **path) {
    size_t len = strcspn(*path, "/");
    rk_span part = rk_span_of(*path, len);
    *path += len + ((*path)[len] == '/');
    return part;
}

bool rk_layout_is_plain(rk_span text) {
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return text.len > 0;
}
