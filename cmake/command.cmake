# SPDX-License-Identifier: Apache-2.0
# command.cmake: the command carat, with models/tiny and the server in it; carat-fetch beside it; and the
# pages that the command writes about itself.

# ---- carat: public header and static library only ----

# All but main.c is an object library: tests are linked with it.
sources_of(cli command_sources)
list(REMOVE_ITEM command_sources ${PROJECT_SOURCE_DIR}/cli/main.c)
add_library(command OBJECT ${command_sources} cli/model/embed.S)
add_executable(carat cli/main.c)
set(tiny ${PROJECT_SOURCE_DIR}/models/tiny)
file(GLOB tiny_files CONFIGURE_DEPENDS ${tiny}/*)
set_source_files_properties(cli/model/embed.S PROPERTIES INCLUDE_DIRECTORIES ${tiny} OBJECT_DEPENDS "${tiny_files}")

# Lines are edited by libedit, where it is: its archive with all that it needs, else the shared library.
# Without it the command reads lines as they come.
find(EDIT histedit.h edit)
set(edit)
foreach(archive edit tinfo bsd md)
  find_library(EDIT_ARCHIVE_${archive} lib${archive}.a)
  mark_as_advanced(EDIT_ARCHIVE_${archive})
  list(APPEND edit ${EDIT_ARCHIVE_${archive}})
endforeach()
if(edit MATCHES "NOTFOUND") # not all of them
  set(edit ${EDIT_LIBRARY})
endif()
if(EDIT_INCLUDE AND edit)
  set_source_files_properties(cli/ask/chat/edit.c PROPERTIES
    COMPILE_DEFINITIONS CARAT_LIBEDIT INCLUDE_DIRECTORIES ${EDIT_INCLUDE})
else()
  set(edit)
  message(STATUS "libedit is not there: carat chat will not edit lines (Debian: libedit-dev)")
endif()

# The server behind carat serve, by the archive of libuv, so that the command needs no further library to
# run. Where it is not there, the command says so.
set_source_files_properties(cli/ask/serve.c PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/server)
find_path(UV_INCLUDE uv.h)
find_library(UV_ARCHIVE NAMES libuv_a.a libuv.a)
mark_as_advanced(UV_INCLUDE UV_ARCHIVE)
if(UV_INCLUDE AND UV_ARCHIVE)
  sources_of(server server_sources)
  add_library(server OBJECT ${server_sources})
  target_include_directories(server PRIVATE server src include ${UV_INCLUDE})
  target_compile_definitions(server PRIVATE _POSIX_C_SOURCE=200809L)
  set_source_files_properties(cli/ask/serve.c PROPERTIES COMPILE_DEFINITIONS CARAT_LIBUV)
  target_sources(command INTERFACE $<TARGET_OBJECTS:server>)
  target_link_libraries(command PUBLIC ${UV_ARCHIVE} ${CMAKE_DL_LIBS})
else()
  message(STATUS "libuv is not there: carat serve will not serve (Debian: libuv1-dev)")
endif()

target_include_directories(command PUBLIC cli src ${JANSSON_INCLUDE})
target_link_libraries(command PUBLIC carat_static ${JANSSON_LIBRARY} ${edit})
target_link_libraries(carat PRIVATE command)
install(TARGETS carat)
install_size(${CMAKE_INSTALL_BINDIR}/carat)

# ---- carat-fetch: it alone holds code that opens connections ----

if(CARAT_FETCH)
  find(CURL curl/curl.h curl)
  find(CRYPTO openssl/evp.h crypto)
  find(ZLIB zlib.h z)
  set(fetch_includes ${CURL_INCLUDE} ${CRYPTO_INCLUDE} ${ZLIB_INCLUDE})
  set(fetch_libraries ${CURL_LIBRARY} ${CRYPTO_LIBRARY} ${ZLIB_LIBRARY})
  if(NOT "${fetch_includes};${fetch_libraries}" MATCHES "NOTFOUND")
    sources_of(fetch fetch_sources)
    add_executable(carat-fetch ${fetch_sources})
    target_include_directories(carat-fetch PRIVATE fetch src ${fetch_includes})
    target_link_libraries(carat-fetch PRIVATE carat_static ${fetch_libraries})
    add_dependencies(carat carat-fetch)
    install(TARGETS carat-fetch DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/carat)
  else()
    message(STATUS "libcurl, OpenSSL or zlib is not there: carat pull will not fetch "
                   "(Debian: libcurl4-openssl-dev libssl-dev zlib1g-dev)")
  endif()
endif()

# ---- man pages and completions: what the command says about itself, where it can run ----

if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(pages ${PROJECT_BINARY_DIR}/pages)
  add_custom_command(TARGET carat POST_BUILD VERBATIM COMMENT "Writing man pages and completions"
    COMMAND ${CMAKE_COMMAND} "-DCARAT=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:carat>" -DOUT=${pages}
            -P ${PROJECT_SOURCE_DIR}/cmake/pages.cmake)
  install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${pages}/carat.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME carat)
  install(FILES ${pages}/_carat DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${pages}/carat.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
