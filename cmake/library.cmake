# SPDX-License-Identifier: Apache-2.0
# library.cmake: the targets carat_static and carat_shared. Every object is compiled once and put into both.

sources_of(src library_sources)
file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS src/kernel/*.c src/layout/*.c src/machine/roofline.c
     src/check/metrics.c)
# ref is the definition of every operation. It is compiled for the baseline and again for AVX2+FMA, where an
# fma is one instruction; both give the same bits (NUMERICS.md section 2). So are the metrics of rows of
# logits.
file(GLOB ref_sources CONFIGURE_DEPENDS src/kernel/ref/*.c src/check/metrics.c)
# Kernels of an instruction set: what lies in its folder is compiled for it and only entered on a CPU that has
# it. Products of bytes are compiled once more for the level above, with its dot of them.
set(x86 src/kernel/x86)
foreach(isa avx2 avx512 vnni amx vbmi)
  file(GLOB ${isa}_sources CONFIGURE_DEPENDS ${x86}/${isa}/*.c)
endforeach()
file(GLOB neon_sources CONFIGURE_DEPENDS src/kernel/arm/*.c)
set(isa_sources ${avx2_sources} ${avx512_sources} ${vnni_sources} ${amx_sources} ${vbmi_sources} ${neon_sources})
file(GLOB avxvnni_sources CONFIGURE_DEPENDS ${x86}/avx2/panel_avx2.c ${x86}/avx2/panel_planes_avx2.c)
file(GLOB vnni_sources CONFIGURE_DEPENDS ${x86}/avx512/panel_avx512.c ${x86}/avx512/panel_planes_avx512.c
     ${x86}/vnni/*.c)
# Encoders too have the same bits for the baseline and for AVX2, where more blocks lie side by side.
file(GLOB encoder_sources CONFIGURE_DEPENDS src/quant/encode_k.c src/quant/encode_iq.c src/quant/encode_simple.c
     src/quant/encode_plain.c src/quant/lattice_lanes.c)
list(REMOVE_ITEM library_sources ${ref_sources} ${isa_sources})
set_source_files_properties(${kernel_sources} PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>;-fno-stack-protector;-U_FORTIFY_SOURCE")
# Looking up is loads and stores of whole entries, which compilers would collect in vectors.
set_source_files_properties(src/kernel/books.c PROPERTIES
  COMPILE_OPTIONS "-fno-stack-protector;-U_FORTIFY_SOURCE;-fno-tree-vectorize")
if(CARAT_FUZZ) # what targets reach; kernels take minutes to instrument, and one that a target called would not link
  set(fuzzed "/src/(base|os|quant|file|names|text|grammar|model|layout)/"
             "/src/backend/(trace|cpu/cpu_(memory|weights))" "/engine/(constraint|chain)" "/generate/reason"
             "/receipt/(receipt|header|statement|digest)\\.c")
  list(JOIN fuzzed "|" fuzzed)
  list(FILTER library_sources INCLUDE REGEX "${fuzzed}")
endif()

# ---- kernels for GPUs: text that the driver compiles, made by clang alone, without anything of NVIDIA's ----

find_program(CARAT_CLANG NAMES clang clang-14 clang-15 clang-16 clang-19 DOC "makes the kernels for GPUs")
mark_as_advanced(CARAT_CLANG)
file(GLOB gpu_sources CONFIGURE_DEPENDS src/kernel/gpu/* src/kernel/philox.h)
set(ptx_target sm_61)
set(ptx_matrix_target sm_80) # of the kernels that older devices cannot have
set(ptx_source src/backend/cuda/cuda_ptx.S)
set(clang_targets)
if(CARAT_CLANG)
  execute_process(COMMAND ${CARAT_CLANG} --print-targets OUTPUT_VARIABLE clang_targets ERROR_QUIET)
endif()
if(clang_targets MATCHES nvptx64)
  set(ptx ${PROJECT_BINARY_DIR}/gpu.ptx)
  set(ptx_matrix ${PROJECT_BINARY_DIR}/gpu_matrix.ptx)
  set(ptx_flags -x cuda --cuda-device-only -nocudainc -nocudalib -std=c++17 -O2 -fno-unroll-loops
      -ffp-contract=off -Wall -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx70)
  foreach(part ptx ptx_matrix)
    add_custom_command(OUTPUT ${${part}} VERBATIM COMMENT "Making the kernels for GPUs" DEPENDS ${gpu_sources}
      COMMAND ${CARAT_CLANG} ${ptx_flags} --cuda-gpu-arch=${${part}_target}
              -S ${PROJECT_SOURCE_DIR}/src/kernel/gpu/gpu.cu -o ${${part}}
      COMMAND sed -i /nounroll/d ${${part}} # which loops it unrolls is the driver's choice
      COMMAND sh -c "! grep -nE '[.](ftz|approx|local)|(add|sub|mul|div|fma|sqrt)[.]f32' $0" ${${part}}) # inexact, or slow
  endforeach()
  set_source_files_properties(${ptx_source} PROPERTIES OBJECT_DEPENDS "${ptx};${ptx_matrix}"
    COMPILE_DEFINITIONS "CT_PTX=\"${ptx}\";CT_PTX_MATRIX=\"${ptx_matrix}\";CT_PTX_TARGET=\"${ptx_target}\"")
else()
  message(STATUS "clang for nvptx64 is not there: carat will not compute on a GPU (Debian: clang)")
endif()

# ---- parts: the common one, and one for each level ----

# add_part(NAME SOURCES... [DEFINES...] [FLAGS...]): an object library that both libraries are made of.
set(parts)
macro(add_part name)
  set(${name}_arguments ${ARGN})
  cmake_parse_arguments(part "" "" "SOURCES;DEFINES;FLAGS" ${ARGN})
  add_library(${name} OBJECT ${part_SOURCES})
  target_include_directories(${name} PRIVATE include src ${XXHASH_INCLUDE})
  target_compile_definitions(${name} PRIVATE ${part_DEFINES})
  target_compile_options(${name} PRIVATE ${part_FLAGS})
  list(APPEND parts $<TARGET_OBJECTS:${name}>)
endmacro()

add_part(part_common SOURCES ${library_sources})
if(NOT CARAT_FUZZ)
  target_sources(part_common PRIVATE ${ptx_source})
  add_part(part_ref SOURCES ${ref_sources} DEFINES CT_ISA=ref)
endif()
# Levels add what they do better than those below. CT_DOT_VNNI: a dot of bytes is one instruction.
if(on_x86 AND NOT CARAT_FUZZ)
  set(avx2_flags -mavx2 -mfma -mf16c)
  set(avx512_flags ${avx2_flags} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  set(ref_avx2_sources ${ref_sources}) # all but what this level has entries of its own for
  list(FILTER ref_avx2_sources EXCLUDE REGEX ref_attend)
  add_part(part_ref_avx2 SOURCES ${ref_avx2_sources} ${avx2_sources} DEFINES CT_ISA=avx2 FLAGS ${avx2_flags})
  add_part(part_encode_avx2 SOURCES ${encoder_sources} FLAGS -mavx2)
  add_part(part_avxvnni SOURCES ${avxvnni_sources} DEFINES CT_ISA=avxvnni CT_BELOW=avx2 CT_DOT_VNNI
           FLAGS ${avx2_flags} -mavxvnni)
  add_part(part_avx512 SOURCES ${avx512_sources} DEFINES CT_ISA=avx512 FLAGS ${avx512_flags})
  add_part(part_vnni SOURCES ${vnni_sources} DEFINES CT_ISA=vnni CT_BELOW=avx512 CT_DOT_VNNI
           FLAGS ${avx512_flags} -mavx512vnni)
  add_part(part_amx SOURCES ${amx_sources} DEFINES CT_ISA=amx CT_BELOW=vnni CT_BELOW_ATTEND=avx512
           FLAGS ${avx512_flags}) # tile.h needs no option
  add_part(part_vbmi SOURCES ${vbmi_sources} FLAGS ${avx512_flags} -mavx512vbmi)
elseif(on_arm AND NOT CARAT_FUZZ)
  add_part(part_neon SOURCES ${neon_sources} DEFINES CT_ISA=neon)
  # Integer products again, with dots of bytes and with products of small matrices.
  add_part(part_dotprod SOURCES src/kernel/arm/panel_neon.c DEFINES CT_ISA=dotprod FLAGS -march=armv8.2-a+dotprod)
  add_part(part_i8mm SOURCES src/kernel/arm/panel_neon.c DEFINES CT_ISA=i8mm FLAGS -march=armv8.2-a+dotprod+i8mm)
endif()

# AddressSanitizer makes vectors of a level eight times as slow. So they are instrumented where they are the
# subject, in tests of kernel and backend, and in one of the engine, which runs whole passes at several
# levels; other programs run them as they are.
set(instrumented_tests "^(kernel/.*|backend/.*|engine/hashes)$")
if(CARAT_SANITIZE MATCHES address AND TARGET part_avx512)
  add_library(carat_instrumented STATIC ${parts})
  target_link_libraries(carat_instrumented PRIVATE Threads::Threads m)
  target_include_directories(carat_instrumented PUBLIC include)
  foreach(level ref_avx2 avxvnni avx512 vnni amx vbmi)
    list(REMOVE_ITEM parts $<TARGET_OBJECTS:part_${level}>)
    add_part(part_${level}_plain ${part_${level}_arguments})
    target_compile_options(part_${level}_plain PRIVATE -fno-sanitize=all -O2)
  endforeach()
endif()

# ---- the libraries ----

add_library(carat_static STATIC ${parts})
add_library(carat_shared SHARED ${parts})
foreach(library carat_static carat_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME carat LINKER_LANGUAGE C)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # libm for fma and fmaf only, where the baseline has no instruction for them.
  target_link_libraries(${library} PRIVATE Threads::Threads m)
endforeach()
set_target_properties(carat_static PROPERTIES EXPORT_NAME static)
set_target_properties(carat_shared PROPERTIES EXPORT_NAME carat VERSION ${PROJECT_VERSION}
                                              SOVERSION ${PROJECT_VERSION_MAJOR})
