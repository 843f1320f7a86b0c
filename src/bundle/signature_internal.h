// The signature of a bundle; private to src/bundle.
#pragma once

#include "bundle/format_internal.h"

// Sets the signature's fields of the footer. All other fields must have their final values.
RK_HIDDEN void rk_bundle_footer_sign(const rk_sign_secret *secret, const rk_sign_public *public_key,
                                     rk_bundle_footer *footer);
RK_HIDDEN bool rk_bundle_footer_verify(const rk_bundle_footer *footer);
