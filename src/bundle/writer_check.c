#include "bundle/name_internal.h"
#include "bundle/writer_internal.h"

rk_err *rk_bundle_writer_check_open(const rk_bundle_writer *self) {
    if (self->is_failed || self->is_finished)
        return rk_error(RK_FAILED_PRECONDITION, "%s: the bundle is %s", self->output.path,
                        self->is_finished ? "finished" : "given up after an error");
    return NULL;
}

rk_err *rk_bundle_writer_check_item(const rk_bundle_writer *self, const rk_bundle_new_item *item,
                                    uint64_t len) {
    RK_TRY(rk_bundle_writer_check_open(self));
    RK_TRY(
        rk_err_wrap(rk_bundle_new_index_check_item(&self->index, item), "%s", self->output.path));
    if (len > RK_BUNDLE_BLOB_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE, "%s: item %s has %llu bytes, more than the %llu allowed",
                        self->output.path, rk_bundle_show(item->name).text, (unsigned long long)len,
                        (unsigned long long)RK_BUNDLE_BLOB_MAX_BYTES);
    return NULL;
}
