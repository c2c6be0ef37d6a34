# SPDX-License-Identifier: Apache-2.0
# carat-config.cmake: what find_package(carat) reads: the targets carat::carat (shared) and carat::static.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/jansson.cmake)
if(NOT TARGET carat::jansson)
  set(carat_FOUND FALSE)
  set(carat_NOT_FOUND_MESSAGE "carat needs the library jansson, which is not found")
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/carat-targets.cmake)
