// Parts of paths.
#include "pack/layout_internal.h"

bool rk_layout_starts(rk_span part, const char *text) {
    size_t len = strlen(text);
    return part.len >= len && memcmp(part.data, text, len) == 0;
}

bool rk_layout_ends(rk_span part, const char *text) {
    size_t len = strlen(text);
    return part.len >= len && memcmp(part.data + part.len - len, text, len) == 0;
}

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
