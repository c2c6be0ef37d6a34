# SPDX-License-Identifier: Apache-2.0
# fuzz.cmake: fuzz/fuzz_<thing>.c is a fuzzer with libFuzzer; without, a test that replays
# fuzz/corpus/<thing>.

# What a target is made of beside the library: readers of the command and of other programs, each in files of
# its own, and libraries for them.
set(files_of_npy cli/io/npy_head.c)
set(files_of_dataset cli/prompt/dataset_line.c cli/io/json_place.c)
set(files_of_trace cli/ask/trace_file.c)
set(files_of_eval_item cli/quality/eval_item.c)
set(files_of_hub_list fetch/hub.c fetch/page.c fetch/names.c fetch/tries.c)
set(files_of_kaggle_list fetch/kaggle.c fetch/search_kaggle.c fetch/page.c fetch/names.c fetch/tries.c)
set(files_of_registry fetch/ollama.c fetch/page.c fetch/names.c fetch/tries.c)
set(files_of_untar fetch/untar.c)
set(files_of_answer fetch/http.c)
set(files_of_http1 server/http1.c)
find(ZLIB zlib.h z)
find(CURL curl/curl.h curl) # for what it does with addresses
set(libraries_of_untar ${ZLIB_LIBRARY})
set(libraries_of_answer ${CURL_LIBRARY})

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/fuzz_*.c)
if(NOT ZLIB_INCLUDE OR NOT ZLIB_LIBRARY)
  list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_untar")
endif()
if(NOT CURL_INCLUDE OR NOT CURL_LIBRARY)
  list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_answer")
endif()
foreach(source ${fuzz_sources})
  cmake_path(GET source STEM program)
  string(REGEX REPLACE "^fuzz_" "" thing ${program})
  add_executable(${program} ${source} ${files_of_${thing}})
  target_include_directories(${program} PRIVATE src cli fetch server test ${JANSSON_INCLUDE})
  target_link_libraries(${program} PRIVATE carat_static ${JANSSON_LIBRARY} ${libraries_of_${thing}})
  if(CARAT_FUZZ)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${program} PRIVATE fuzz/replay.c)
    add_test(NAME corpus_${thing} COMMAND timed $<TARGET_FILE:${program}> ${PROJECT_SOURCE_DIR}/fuzz/corpus/${thing})
    set_tests_properties(corpus_${thing} PROPERTIES LABELS "fuzz;memory" TIMEOUT ${test_timeout} PROCESSORS 2)
  endif()
endforeach()
