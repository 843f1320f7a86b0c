// Signs an encoded entry.
#include "store/entry_head_internal.h"
#include "store/entry_signature_internal.h"

rk_err *rk_entry_sign(const rk_sign_secret *secret, const rk_sign_public *public_key,
                      rk_buf *data) {
    rk_entry_view view;
    rk_entry_fault fault;
    RK_TRY(rk_entry_decode(rk_buf_span(data), NULL, RK_WANT_HEAD, &view, &fault));
    bool was_signed = view.is_signed;
    rk_entry_view_cleanup(&view);
    if (fault)
        return rk_error(RK_INVALID_ARGUMENT, "an entry that is %s cannot be signed",
                        rk_entry_fault_text(fault));
    if (!was_signed) {
        rk_buf_reserve(data, RK_ENTRY_SIGNATURE_BYTES);
        RK_TRY(rk_buf_status(data));
        data->len += RK_ENTRY_SIGNATURE_BYTES;
    }
    rk_entry_head head;
    rk_entry_head_read(data->data, &head);
    head.signature_type = RK_SIGNATURE_TYPE_ED25519;
    head.signature_bytes = RK_ENTRY_SIGNATURE_BYTES;
    rk_entry_head_write(&head, data->data);
    rk_entry_signature_make(secret, public_key, &head, data->data,
                            data->len - RK_ENTRY_SIGNATURE_BYTES - RK_DIGEST_BYTES);
    data->data[data->len] = 0;
    return NULL;
}
