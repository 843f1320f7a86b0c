static const int placeholder_until_written = 0; int rk_store_placeholder(void); int rk_store_placeholder(void) { return placeholder_until_written; }
