# rk_module(NAME SOURCES a.c… DEPS rk_base…): one static library a room, named rk_NAME.
function(rk_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(rk_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(rk_${name} PUBLIC rk_options ${ARG_DEPS})
endfunction()

# Where ThreadSanitizer's shadow memory collides with much address randomness, it needs less of it.
set(REKINDLE_TEST_LAUNCHER "")
if(REKINDLE_SANITIZE STREQUAL "thread")
  execute_process(COMMAND setarch -R true RESULT_VARIABLE rk_status OUTPUT_QUIET ERROR_QUIET)
  if(rk_status EQUAL 0)
    set(REKINDLE_TEST_LAUNCHER setarch -R)
  endif()
endif()

# Sanitized trees run beside the release tree in one ctest (make check): their tests carry a prefix.
set(REKINDLE_TEST_PREFIX "")
if(REKINDLE_SANITIZE STREQUAL "address")
  set(REKINDLE_TEST_PREFIX "asan/")
elseif(REKINDLE_SANITIZE STREQUAL "thread")
  set(REKINDLE_TEST_PREFIX "tsan/")
endif()

# ThreadSanitizer runs what starts threads or shares atomics; the other tests would only be slower there.
set(REKINDLE_THREADED_TESTS "^(test_base_(parallel|heap_reserve|log|process|relay)|test_bundle_files|test_cache_.*|test_journal_(events|processes)|\
test_diagnose_(align|quick)|test_pjrt_.*|test_store_(evict|lease|loads|manifest|shared|usage)|fault_(ahead|changes|exits|flight|loads|memory|\
optimized|parallel|plugin|prefetch|prefetch_attack|serialize|streams|strict|subset|verify))$")

# rk_runs_here(NAME OUT): whether this tree runs a test.
function(rk_runs_here name out)
  set(${out} TRUE PARENT_SCOPE)
  if(REKINDLE_SANITIZE STREQUAL "thread" AND NOT name MATCHES "${REKINDLE_THREADED_TESTS}")
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# rk_unit_test(NAME SOURCES a.c… DEPS rk_base… [LABELS unit fault…] [TIMEOUT seconds]
#              [ENVIRONMENT A=b…]): a cmocka program and a ctest.
# Every unit test may also use tests/support (rk_test_support).
function(rk_unit_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rk_options ${ARG_DEPS} rk_test_support rk_cmocka)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  rk_runs_here(${name} runs)
  if(NOT runs)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  set(test ${REKINDLE_TEST_PREFIX}${name})
  add_test(NAME ${test} COMMAND ${REKINDLE_TEST_LAUNCHER} $<TARGET_FILE:${name}>)
  set_tests_properties(${test} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
