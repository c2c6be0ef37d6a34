# SPDX-License-Identifier: Apache-2.0
# carat-config.cmake: what find_package(carat) reads: the targets carat::carat (shared) and carat::static.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/carat-targets.cmake)
