# SPDX-License-Identifier: Apache-2.0
# merge_objects.cmake: makes an archive of one object for each room, out of the objects of the library: what
# rooms name of each other then stands in it once, which is a tenth of the archive. Sections stay apart, so
# that a linker drops as much as before; plain .data and .bss, which hardly any object fills, are merged too.
# The face (src/api) stays as it is: who calls one of its files should link no other.
#   cmake -DOBJECTS=FILE -DARCHIVE=FILE -DLINKER=ld -DAR=ar -DOBJCOPY=objcopy -P merge_objects.cmake
# OBJECTS names a file with a path in each line.

file(STRINGS "${OBJECTS}" objects)
set(folder "${ARCHIVE}.parts")
file(MAKE_DIRECTORY "${folder}")
set(rooms)
foreach(object ${objects})
  string(REGEX MATCH "CMakeFiles/(part_[a-z0-9_]+)\\.dir/src/([a-z]+)/" place "${object}")
  set(room "${CMAKE_MATCH_1}-${CMAKE_MATCH_2}")
  list(APPEND rooms "${room}")
  list(APPEND "of_${room}" "${object}")
endforeach()
list(REMOVE_DUPLICATES rooms)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE said)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${said}")
  endif()
endfunction()

set(merged)
foreach(room ${rooms})
  if(room MATCHES "-api$")
    foreach(object ${of_${room}})
      get_filename_component(name "${object}" NAME)
      file(COPY_FILE "${object}" "${folder}/${name}")
      list(APPEND merged "${folder}/${name}")
    endforeach()
  else()
    run("${LINKER}" -r --unique=.text* --unique=.rodata* --unique=.data.* --unique=.bss.* -o "${folder}/${room}.o" ${of_${room}})
    list(APPEND merged "${folder}/${room}.o")
  endif()
endforeach()
foreach(object ${merged})
  run("${OBJCOPY}" --discard-all "${object}")
endforeach()
file(REMOVE "${ARCHIVE}")
run("${AR}" crsD "${ARCHIVE}" ${merged})
file(REMOVE_RECURSE "${folder}")
