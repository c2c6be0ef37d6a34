# SPDX-License-Identifier: Apache-2.0
# package.cmake: installs the libraries, the public headers, carat.pc, and what find_package(carat) reads.

# carat.pc finds the prefix from where it lies, so that an installation can be moved and staged; a folder that
# was given as an absolute path stays one.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pc_libdir)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pc_includedir)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
endif()
configure_file(carat.pc.in carat.pc @ONLY)
install(TARGETS carat_static carat_shared EXPORT carat)

# install_size(FILE): installing ends with the bytes of what lies there then, so that nobody has to look.
function(install_size file)
  install(CODE "file(SIZE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\" bytes)
    message(STATUS \"\${bytes} bytes: ${file}\")")
endfunction()
install_size(${CMAKE_INSTALL_LIBDIR}/libcarat.a)
install_size(${CMAKE_INSTALL_LIBDIR}/libcarat.so)

# find_package(carat): targets carat::carat (shared) and carat::static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/carat)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(carat-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT carat NAMESPACE carat:: FILE carat-targets.cmake DESTINATION ${package_dir})
install(FILES cmake/carat-config.cmake ${PROJECT_BINARY_DIR}/carat-config-version.cmake
        DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB public_headers CONFIGURE_DEPENDS include/*.h)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/carat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
