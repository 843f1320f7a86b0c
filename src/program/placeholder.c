static const int placeholder_until_written = 0; int rk_program_placeholder(void); int rk_program_placeholder(void) { return placeholder_until_written; }
