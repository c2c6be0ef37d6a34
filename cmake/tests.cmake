# SPDX-License-Identifier: Apache-2.0
# tests.cmake: the tests. test/<room>/test_<thing>.c is the test <room>/<thing>, run as `test_<room> <thing>`;
# so is test/<room>/test_<thing>.sh. What lies deeper, test/cli/<room>/, is cli/<room>/<thing>. What is
# special about single ones stands in test/tiers.txt.

enable_testing()
find(CMOCKA cmocka.h cmocka REQUIRED)
find(XXHASH xxhash.h xxhash REQUIRED)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
set(test_timeout 300)
if(CARAT_SANITIZE)
  set(test_timeout 600)
endif()

# rows_of(WORD OUT): what stands behind that word in test/tiers.txt, a list of rows.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS test/tiers.txt)
function(rows_of word out)
  file(STRINGS test/tiers.txt rows REGEX "^${word} ")
  list(TRANSFORM rows REPLACE "^${word} " "")
  set(${out} "${rows}" PARENT_SCOPE)
endfunction()
foreach(word own threaded)
  rows_of(${word} patterns)
  list(JOIN patterns "|" ${word}_tests)
  set(${word}_tests "^(${${word}_tests})$")
endforeach()
if(CARAT_SANITIZE STREQUAL thread)
  set(CARAT_TESTS_ONLY "${threaded_tests}")
endif()

# ---- tests in C ----

# Each runs under a program that says how much processor time it took.
add_executable(timed test/timed.c)
target_compile_options(timed PRIVATE -fno-sanitize=all)
target_link_options(timed PRIVATE -fno-sanitize=all)

# What all of them have: a main that calls the one that is named, and an end with 77 when all was skipped.
add_library(test_main OBJECT test/program.c test/skips.c)
target_include_directories(test_main PRIVATE test ${CMOCKA_INCLUDE})
target_link_options(test_main INTERFACE -Wl,--wrap=_skip,--wrap=_cmocka_run_group_tests)

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/test test/test_*.c)
# Tests with a server in a thread of theirs. Those of server/scripted have a script in place of the library,
# and nothing of the real one but what the server takes of base.
if(TARGET server)
  file(GLOB base_sources CONFIGURE_DEPENDS src/base/*.c)
  add_library(fake_carat OBJECT test/server/fake_carat.c test/server/fake_told.c src/text/chat/talk.c
              ${base_sources})
  add_library(talk OBJECT test/server/talk.c)
  foreach(part fake_carat talk)
    target_include_directories(${part} PRIVATE include src server test ${UV_INCLUDE})
    target_compile_definitions(${part} PRIVATE _POSIX_C_SOURCE=200809L)
  endforeach()
  target_link_libraries(talk INTERFACE ${UV_ARCHIVE} ${CMAKE_DL_LIBS} Threads::Threads -Wl,--wrap=uv_now
                        -Wl,--wrap=ct_json_tree_read -Wl,--wrap=ct_json_tree_value)
else()
  list(FILTER test_sources EXCLUDE REGEX "^server/(scripted/|test_rows)")
endif()

# program_of(NAME): sets room, program and words, what the test runs as.
macro(program_of name)
  string(REGEX REPLACE "/[^/]*$" "" room ${name})
  string(REGEX MATCH "[^/]*$" words ${name})
  string(REPLACE / _ program test_${room})
  if(${name} MATCHES "${own_tests}")
    string(APPEND program _${words})
    set(words)
  endif()
endmacro()

# add_program(PROGRAM ROOM NAME): the program of a room, or of the one test NAME.
function(add_program program room name)
  add_executable(${program})
  set_target_properties(${program} PROPERTIES CARAT_ROOM ${room})
  target_include_directories(${program} PRIVATE src test ${CMOCKA_INCLUDE} ${JANSSON_INCLUDE} ${XXHASH_INCLUDE})
  target_compile_definitions(${program} PRIVATE CT_TEST_DATA="${PROJECT_SOURCE_DIR}/test/data")
  if(CARAT_COMMAND) # what the command's own tests run; they need it built
    target_compile_definitions(${program} PRIVATE CARAT_COMMAND="$<TARGET_FILE:carat>")
    if(room MATCHES "^cli")
      target_include_directories(${program} BEFORE PRIVATE cli) # some are made of files of the command
      add_dependencies(${program} carat)
    endif()
  endif()
  set(library carat_static)
  if(TARGET carat_instrumented AND name MATCHES "${instrumented_tests}")
    set(library carat_instrumented)
  endif()
  if(room MATCHES "^server")
    target_include_directories(${program} PRIVATE server include)
    target_compile_definitions(${program} PRIVATE _POSIX_C_SOURCE=200809L)
    if(room STREQUAL server/scripted)
      set(library fake_carat server talk)
    elseif(TARGET server)
      list(PREPEND library server talk)
    else()
      target_sources(${program} PRIVATE server/http1.c server/pace.c server/json_write.c server/buffer.c
                                        server/fields.c server/refusal.c)
    endif()
  endif()
  if(room MATCHES "^(engine|generate|listen)$") # their engines may be on the emulated GPU
    target_sources(${program} PRIVATE test/emu/on_device.c)
    target_include_directories(${program} PRIVATE include)
    target_link_options(${program} PRIVATE -Wl,--wrap=carat_engine_create)
  endif()
  target_link_libraries(${program} PRIVATE test_main ${library} ${CMOCKA_LIBRARY} ${JANSSON_LIBRARY}
                        ${XXHASH_LIBRARY} m)
endfunction()

set(room_programs)
set(test_names)
foreach(source ${test_sources})
  string(REGEX REPLACE "test_([^/]*)\\.c$" "\\1" name ${source})
  if(CARAT_TESTS_ONLY AND NOT name MATCHES "${CARAT_TESTS_ONLY}")
    continue()
  endif()
  program_of(${name})
  if(NOT TARGET ${program})
    add_program(${program} ${room} ${name})
    list(APPEND room_programs ${program})
  endif()
  target_sources(${program} PRIVATE test/${source})
  set_source_files_properties(test/${source} PROPERTIES
    COMPILE_OPTIONS "-include;${PROJECT_SOURCE_DIR}/test/program.h")
  set(labels ${room})
  if(name MATCHES "${threaded_tests}")
    list(APPEND labels threaded)
  endif()
  if(NOT name MATCHES "^api/out_of_memory_(vectors|sbs|cache)$") # these are deep
    list(APPEND labels memory)
  endif()
  add_test(NAME ${name} COMMAND timed $<TARGET_FILE:${program}> ${words})
  # The command's cache is the test's, never the user's.
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${test_timeout} SKIP_RETURN_CODE 77
    PROCESSORS 2 ENVIRONMENT XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/test/cache)
  list(APPEND test_names ${name})
endforeach()
if(CARAT_SANITIZE STREQUAL thread)
  add_custom_target(threaded DEPENDS timed ${room_programs})
endif()
# Who builds a room's program builds those of its own, too.
foreach(program ${room_programs})
  get_target_property(room ${program} CARAT_ROOM)
  string(REPLACE / _ whole test_${room})
  if(TARGET ${whole} AND NOT program STREQUAL whole)
    add_dependencies(${whole} ${program})
  endif()
endforeach()

if(TARGET server AND CARAT_SANITIZE)
  set_property(TEST server/scripted/crowd APPEND PROPERTY ENVIRONMENT CROWD_SECONDS=10)
  add_test(NAME server/scripted/crowd_all COMMAND timed $<TARGET_FILE:test_server_scripted> crowd)
  set_tests_properties(server/scripted/crowd_all PROPERTIES LABELS "server/scripted;threaded;deep" PROCESSORS 4
                       TIMEOUT ${test_timeout} SKIP_RETURN_CODE 77 ENVIRONMENT CROWD_SECONDS=60)
endif()

# A driver of NVIDIA's that runs kernels on fibres. Programs find it where LD_LIBRARY_PATH says.
set(emulated_gpu_sources test/emu/kernels.c test/emu/fibre.c test/emu/planted.c test/emu/unfused.c test/emu/unit.c)
add_library(emulated_gpu OBJECT ${emulated_gpu_sources})
add_library(libcuda SHARED test/emu/libcuda.c test/emu/calls.c test/emu/copies.c)
target_link_libraries(libcuda PRIVATE emulated_gpu)
set_target_properties(libcuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/emu)
foreach(part emulated_gpu libcuda)
  target_include_directories(${part} PRIVATE test/emu src include)
  target_compile_options(${part} PRIVATE -fno-sanitize=all) # fibres are no threads that sanitizers know
endforeach()
set_source_files_properties(test/emu/fibre.c test/emu/unit.c PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
if(TARGET test_kernel)
  target_include_directories(test_kernel PRIVATE test/emu)
  target_link_libraries(test_kernel PRIVATE emulated_gpu)
endif()
foreach(program test_engine test_generate test_listen)
  if(TARGET ${program})
    add_dependencies(${program} libcuda)
  endif()
endforeach()
if(NOT CARAT_TESTS_ONLY)
  foreach(thing cuda cuda_ahead cuda_draws pair tensor)
    set_property(TEST engine/${thing} APPEND PROPERTY ENVIRONMENT LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/emu)
  endforeach()
endif()

# ---- samples, and what computes on how many processors ----

# add_whole(NAME TURNS [CASE...]): NAME_all looks at all of what NAME takes a sample of; see test/tiers.txt.
function(add_whole name turns)
  program_of(${name})
  if(name MATCHES "${threaded_tests}")
    list(APPEND room threaded)
  endif()
  get_property(environment TEST ${name} PROPERTY ENVIRONMENT)
  add_test(NAME ${name}_all COMMAND timed $<TARGET_FILE:${program}> ${words})
  set_tests_properties(${name}_all PROPERTIES LABELS "${room};deep" TIMEOUT 900 SKIP_RETURN_CODE 77 PROCESSORS 2
                                              ENVIRONMENT "${environment};CARAT_TIER=deep")
  if(ARGN)
    list(JOIN ARGN "," cases)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT CARAT_TEST_LEAVE_OUT=${cases})
  endif()
  if(turns GREATER 1)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT CARAT_TEST_TURNS=${turns})
  endif()
endfunction()
rows_of(sampled samples)
if(NOT CARAT_SANITIZE)
  rows_of(sampled_plain plain_samples)
endif()
foreach(row ${plain_samples} ${samples})
  string(REPLACE " " ";" row "${row}")
  list(GET row 0 test)
  if(TEST ${test}) # else another flavour's
    add_whole(${row})
  endif()
endforeach()

# tools/check.sh lets CTest count each processor twice: what computes takes two halves, what sleeps most of
# its time one, and whose threads turn while they wait has both processors for itself.
rows_of(spins spinning)
foreach(test ${spinning})
  list(APPEND spinning ${test}_all)
endforeach()
foreach(test ${spinning} ${test_names})
  if(TEST ${test} AND (test IN_LIST spinning OR test MATCHES "${threaded_tests}"))
    set_property(TEST ${test} PROPERTY PROCESSORS 4)
  endif()
endforeach()

# ---- programs that tests and scripts use ----

# These ask patterns, grammars and schemas which texts fit, for scripts that compare them with others.
foreach(program match walk answer)
  add_executable(${program} test/grammar/${program}.c)
  target_include_directories(${program} PRIVATE src)
  target_link_libraries(${program} PRIVATE carat_static)
endforeach()
# This one is a client that closes its own side of a connection, or reads nothing.
add_executable(odd_client test/server/odd_client.c)
# This one tells what is read of HTTP.
add_executable(events test/server/events.c server/http1.c)
target_include_directories(events PRIVATE server test)
if(TARGET carat-fetch)
  # A hub that misbehaves, for the tests of fetching.
  file(GLOB fakehub_sources CONFIGURE_DEPENDS test/fetch/fakehub*.c)
  add_executable(fakehub ${fakehub_sources})
  target_include_directories(fakehub PRIVATE ${CRYPTO_INCLUDE})
  target_link_libraries(fakehub PRIVATE ${CRYPTO_LIBRARY})
  # A disk that misbehaves, put before the C library.
  add_library(faulty_disk MODULE test/fetch/faulty_disk.c)
  set_target_properties(faulty_disk PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
endif()

# kcheck takes options, so that it also searches longer and times kernels.
file(GLOB kcheck_sources CONFIGURE_DEPENDS test/kernel/kcheck*.c)
add_executable(kcheck ${kcheck_sources})
set_target_properties(kcheck PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_include_directories(kcheck PRIVATE src)
target_link_libraries(kcheck PRIVATE $<IF:$<TARGET_EXISTS:carat_instrumented>,carat_instrumented,carat_static>
                      Threads::Threads)
add_test(NAME kernel/kcheck COMMAND timed $<TARGET_FILE:kcheck> --time 5)
set_tests_properties(kernel/kcheck PROPERTIES LABELS kernel TIMEOUT ${test_timeout})

# Levels that this CPU may lack, in emulation.
if(on_x86)
  find_path(SIMDE_INCLUDE simde/x86/avx512.h REQUIRED)
  mark_as_advanced(SIMDE_INCLUDE)
  function(add_emulation level sources) # [DEFINITION...]
    add_library(emulated_${level} OBJECT ${sources})
    target_include_directories(emulated_${level} PRIVATE include src ${SIMDE_INCLUDE})
    target_compile_definitions(emulated_${level} PRIVATE CT_ISA=emulated_${level} CT_SIZES_OF=${level} ${ARGN}
                               SIMDE_NO_CHECK_IMMEDIATE_CONSTANT) # clang sees none without inlining
    # The instructions wrap around; SIMDe spells some of them as sums of signed numbers.
    target_compile_options(emulated_${level} PRIVATE -mavx2 -mfma -mf16c -fwrapv -Wno-psabi
      -include ${PROJECT_SOURCE_DIR}/test/kernel/emulate.h)
    foreach(program test_kernel kcheck)
      if(TARGET ${program})
        target_link_libraries(${program} PRIVATE emulated_${level})
      endif()
    endforeach()
  endfunction()
  add_emulation(avxvnni "${avxvnni_sources}" CT_BELOW=avx2 CT_DOT_VNNI)
  add_emulation(avx512 "${avx512_sources}")
  add_emulation(vnni "${vnni_sources}" CT_BELOW=emulated_avx512 CT_DOT_VNNI)
  add_emulation(amx "${amx_sources}" CT_BELOW=emulated_vnni CT_BELOW_ATTEND=emulated_avx512)
  target_compile_options(emulated_amx PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/test/kernel/emulate_tiles.h")
endif()

# ---- programs of tests that are linked in another way ----

# wrap(PROGRAM FUNCTION...): the linker puts functions of the program in between, where it is built.
function(wrap program)
  list(TRANSFORM ARGN PREPEND -Wl,--wrap= OUTPUT_VARIABLE wraps)
  if(TARGET ${program})
    target_link_options(${program} PRIVATE ${wraps})
  endif()
endfunction()
# These programs refuse what the library asks the C library for.
set(refusable malloc calloc realloc aligned_alloc free mmap munmap)
foreach(models tiny vectors sbs cache convert)
  wrap(test_api_out_of_memory_${models} ${refusable} pthread_create pthread_join)
endforeach()
foreach(program cli_quality_report engine_constraint_faults grammar_out_of_memory grammar_schema_faults
                receipt_refused text_tables_bad)
  wrap(test_${program} ${refusable})
endforeach()
wrap(test_checkpoint_read_once ct_json_init)
# This one kills and refuses what the library asks the system for, and turns its clock.
wrap(test_checkpoint_cache_faults clock_gettime flock fsync ftruncate futimens mkdir mmap munmap nanosleep
     posix_fallocate pthread_create rename unlink utimensat write)

# with(PROGRAM SOURCE...): files of the command that the program is made of, too, where it is built.
function(with program)
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${ARGN})
  endif()
endfunction()
# The report is made of files that share no names with a program that includes them.
file(GLOB report_sources CONFIGURE_DEPENDS cli/quality/compare/report*.c)
foreach(thing fold interrupt message progress question output size utf8)
  list(APPEND term_sources cli/term/${thing}.c)
endforeach()
set(result_sources cli/quality/compare/result.c cli/quality/compare/summary_fields.c cli/io/members.c)
with(test_cli_quality_report ${report_sources} ${result_sources} cli/io/svg.c cli/io/save.c cli/term/out_json.c
     ${term_sources})
with(test_cli_quality_compare_summary cli/quality/compare/summary.c ${result_sources})
add_library(plant OBJECT test/engine/plant.c)
target_include_directories(plant PRIVATE src include)
with(test_cli_model_self_check cli/model/self_check.c cli/model/self_check_print.c cli/term/clock.c
     $<TARGET_OBJECTS:plant>)
if(TARGET command AND TARGET test_cli_options)
  target_link_libraries(test_cli_options PRIVATE command)
endif()

# ---- scripts ----

# They get all they need by environment; exit status 77 means "cannot be checked here".
list(JOIN sanitize_flags " " script_flags)
set(script_environment CARAT_SOURCE=${PROJECT_SOURCE_DIR} CARAT_BUILD=${PROJECT_BINARY_DIR}
                       CC=${CMAKE_C_COMPILER} "CARAT_CFLAGS=${script_flags}")
if(CARAT_COMMAND)
  list(APPEND script_environment CARAT=$<TARGET_FILE:carat>)
endif()
function(add_script name script)
  string(REGEX REPLACE "/[^/]*$" "" room ${name})
  add_test(NAME ${name} COMMAND timed bash ${PROJECT_SOURCE_DIR}/${script} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${room} TIMEOUT ${test_timeout} SKIP_RETURN_CODE 77 PROCESSORS 2
                                          ENVIRONMENT "${script_environment}")
endfunction()
file(GLOB_RECURSE test_scripts CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} test/*.sh)
if(CARAT_SANITIZE) # text is no matter of memory
  list(FILTER test_scripts EXCLUDE REGEX "^test/(house/|cli/options/|cli/test_texts|api/test_(header|hardening))")
endif()
foreach(script ${test_scripts})
  string(REGEX REPLACE "^test/(.*/)(test_)?([^/]*)\\.sh$" "\\1\\3" name ${script})
  add_script(${name} ${script})
endforeach()
if(NOT CARAT_SANITIZE) # they read sources and names: once is enough
  foreach(check includes symbols house format scripts)
    string(REPLACE house rules name ${check})
    add_script(house/${name} tools/check_${check}.sh)
  endforeach()
endif()
set_tests_properties(kernel/arm api/fresh_clone PROPERTIES TIMEOUT 900) # they build everything anew
set_tests_properties(engine/hashes_qemu engine/on_cuda PROPERTIES TIMEOUT 900) # minutes in an emulator
# The longest begin first, so that nothing is left over for one core at the end.
set_tests_properties(kernel/arm api/fresh_clone engine/hashes_qemu PROPERTIES COST 1000)

# ---- tiers ----

if(NOT CARAT_SANITIZE AND NOT CARAT_TESTS_ONLY) # refused allocations of tiny find more under AddressSanitizer
  set_property(TEST api/out_of_memory_tiny APPEND PROPERTY LABELS deep)
endif()
foreach(tier memory long deep)
  rows_of(${tier} tests)
  foreach(test ${tests})
    if(TEST ${test}) # else another flavour's, or its program is not built here
      set_property(TEST ${test} APPEND PROPERTY LABELS ${tier})
    endif()
  endforeach()
endforeach()
rows_of(waits tests)
foreach(test ${tests})
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES PROCESSORS 1 COST 500)
  endif()
endforeach()
