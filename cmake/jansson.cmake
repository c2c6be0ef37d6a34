# SPDX-License-Identifier: Apache-2.0
# jansson.cmake: the target carat::jansson, if the library is there: for the build, and for programs that link the archive.
find_library(JANSSON_LIBRARY jansson)
mark_as_advanced(JANSSON_LIBRARY)
if(JANSSON_LIBRARY AND NOT TARGET carat::jansson)
  add_library(carat::jansson UNKNOWN IMPORTED)
  set_target_properties(carat::jansson PROPERTIES IMPORTED_LOCATION "${JANSSON_LIBRARY}")
endif()
