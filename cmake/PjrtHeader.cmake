# pjrt_c_api.h is not part of this repository: it comes from the xla-cpu-pjrt wheel of the pinned Python
# environment (scripts/setup makes it), or from REKINDLE_PJRT_HEADER.
set(REKINDLE_PJRT_HEADER "" CACHE FILEPATH "pjrt_c_api.h; empty: the one of the pinned xla-cpu-pjrt wheel")
set(rk_header "${REKINDLE_PJRT_HEADER}")
if(rk_header STREQUAL "")
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/python-env --print-header
    OUTPUT_VARIABLE rk_header OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE rk_status)
endif()
if(rk_header STREQUAL "" OR NOT EXISTS "${rk_header}")
  message(FATAL_ERROR "pjrt_c_api.h was not found (\"${rk_header}\"). Run scripts/setup, which installs "
    "the pinned xla-cpu-pjrt wheel that holds it, or pass -DREKINDLE_PJRT_HEADER=/path/to/pjrt_c_api.h")
endif()
message(STATUS "pjrt_c_api.h: ${rk_header}")
# Copied alone: the folder it lies in may hold other headers, and the build must not depend on a cache.
configure_file(${rk_header} ${CMAKE_BINARY_DIR}/pjrt_header/pjrt_c_api.h COPYONLY)
add_library(rk_pjrt_header INTERFACE)
target_include_directories(rk_pjrt_header SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/pjrt_header)
