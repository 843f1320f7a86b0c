// The name of the LD_PRELOAD entry path.
#include "pjrt/entry_path.h"

const char rk_entry_path[] = "preload";
