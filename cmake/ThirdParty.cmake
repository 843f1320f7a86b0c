# Libraries from Debian, or those of scripts/wheel-libraries. zstd and libsodium are linked statically into what lives
# in other people's processes, with their symbols hidden by the version scripts of the shared libraries.
pkg_check_modules(ZSTD REQUIRED libzstd)
pkg_check_modules(SODIUM REQUIRED libsodium)
find_library(REKINDLE_ZSTD_A libzstd.a REQUIRED)
find_library(REKINDLE_SODIUM_A libsodium.a REQUIRED)

add_library(rk_zstd INTERFACE)
target_include_directories(rk_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIRS})
target_link_libraries(rk_zstd INTERFACE ${REKINDLE_ZSTD_A})

add_library(rk_sodium INTERFACE)
target_include_directories(rk_sodium SYSTEM INTERFACE ${SODIUM_INCLUDE_DIRS})
target_link_libraries(rk_sodium INTERFACE ${REKINDLE_SODIUM_A} Threads::Threads)

# CLI and tests only.
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
add_library(rk_jansson ALIAS PkgConfig::JANSSON)
if(REKINDLE_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
  add_library(rk_cmocka ALIAS PkgConfig::CMOCKA)
endif()
