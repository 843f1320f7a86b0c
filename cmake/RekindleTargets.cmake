# rk_module(NAME SOURCES a.c… DEPS rk_base…): one static library a room, named rk_NAME.
function(rk_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(rk_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(rk_${name} PUBLIC rk_options ${ARG_DEPS})
endfunction()

# rk_unit_test(NAME SOURCES a.c… DEPS rk_base… [LABELS unit fault…]): a cmocka program and a ctest.
# Every unit test may also use tests/support (rk_test_support).
function(rk_unit_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rk_options ${ARG_DEPS} rk_test_support rk_cmocka)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
