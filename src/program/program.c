#include "program/program.h"

#include "base/alloc.h"

rk_err *rk_program_inspect(rk_span code, rk_span format, rk_program_info *out_info) {
    rk_hasher hasher;
    *out_info = (rk_program_info){0};
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, format);
    rk_hasher_add_field(&hasher, code);
    rk_hasher_finish(&hasher, &out_info->fingerprint);
    return NULL;
}

void rk_program_info_cleanup(rk_program_info *info) {
    rk_free(info->uncacheable);
    *info = (rk_program_info){0};
}
