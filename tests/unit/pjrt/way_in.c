#include "pjrt/way_in.h"

const char rk_way_in[] = "test";
