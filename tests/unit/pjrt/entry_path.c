#include "pjrt/entry_path.h"

const char rk_entry_path[] = "test";
