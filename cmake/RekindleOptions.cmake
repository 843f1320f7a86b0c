# What every target of ours is compiled with: the interface target rk_options.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(REKINDLE_SANITIZE "" CACHE STRING "address (with undefined), thread, fuzzer, or empty")
option(REKINDLE_COVERAGE "Instrument for coverage" OFF)

# rk_warnings alone: for code that can have nothing of a compiler's runtime.
add_library(rk_warnings INTERFACE)
target_include_directories(rk_warnings INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(rk_warnings INTERFACE
  _GNU_SOURCE REKINDLE_VERSION="${PROJECT_VERSION}")
target_compile_options(rk_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wcast-qual -Wundef -Wformat=2 -fno-common>)

add_library(rk_options INTERFACE)
target_link_libraries(rk_options INTERFACE rk_warnings)
target_compile_options(rk_options INTERFACE -fno-omit-frame-pointer)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(rk_options INTERFACE -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
    -fstack-protector-strong)
endif()
if(REKINDLE_SANITIZE STREQUAL "address")
  target_compile_options(rk_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(rk_options INTERFACE -fsanitize=address,undefined)
elseif(REKINDLE_SANITIZE STREQUAL "thread")
  target_compile_options(rk_options INTERFACE -fsanitize=thread)
  target_link_options(rk_options INTERFACE -fsanitize=thread)
elseif(REKINDLE_SANITIZE STREQUAL "fuzzer")
  target_compile_options(rk_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=all)
  target_link_options(rk_options INTERFACE -fsanitize=address,undefined)
elseif(NOT REKINDLE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "REKINDLE_SANITIZE=${REKINDLE_SANITIZE}: use address, thread, fuzzer or nothing")
endif()
if(REKINDLE_COVERAGE)
  target_compile_options(rk_options INTERFACE --coverage)
  target_link_options(rk_options INTERFACE --coverage)
endif()
