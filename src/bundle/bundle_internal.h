// An open bundle; private to src/bundle.
#pragma once

#include "bundle/format_internal.h"
#include "bundle/head_internal.h"
#include "bundle/index_internal.h"

struct rk_bundle {
    int fd;
    bool owns_fd;
    char *shown; // owned: the name for messages
    rk_bundle_footer footer;
    rk_bundle_read_head head;
    uint8_t *index_data; // owned
    rk_bundle_index index;
};
