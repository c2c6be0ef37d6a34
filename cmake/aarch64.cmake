# SPDX-License-Identifier: Apache-2.0
# aarch64.cmake: cross-compiles for 64-bit Arm with Debian's compiler and runs what was built under qemu.
# Libraries are those of build/root-arm64, which tools/setup_arm.sh fills, else those of a foreign
# architecture that the system has.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/root-arm64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
