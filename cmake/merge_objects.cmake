# SPDX-License-Identifier: Apache-2.0
# merge_objects.cmake: makes an archive of one object for each room, out of the objects of the library: what
# rooms name of each other then stands in it once, which is a tenth of the archive. A section takes some 150
# bytes beside what it holds, so those of a room lie together that the same programs need: which they are, a
# linker says that drops what a program does not need. What none of the programs below needs lies together by
# file. So a linker drops for them all that it would drop of the objects as they were.
# The face (src/api) stays as it is: who calls one of its files should link no other.
#   cmake -DOBJECTS=FILE -DARCHIVE=FILE -DHEADERS=include -DLINKER=ld -DAR=ar -DOBJCOPY=objcopy
#         -P merge_objects.cmake
# OBJECTS names a file with a path in each line.

set(ENV{LC_ALL} C) # what the linker says is read
file(STRINGS "${OBJECTS}" objects)
set(folder "${ARCHIVE}.parts")
file(MAKE_DIRECTORY "${folder}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE said)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

set(rooms)
foreach(object ${objects})
  string(REGEX MATCH "CMakeFiles/(part_[a-z0-9_]+)\\.dir/src/([a-z]+)/" place "${object}")
  set(room "${CMAKE_MATCH_1}-${CMAKE_MATCH_2}")
  set("room_of_${object}" "${room}")
  list(APPEND rooms "${room}")
  list(APPEND "objects_of_${room}" "${object}")
endforeach()
list(REMOVE_DUPLICATES rooms)

# Programs: one that has to do with texts alone, and those that are shown at the top of headers.
set(program_texts carat_model_open carat_tokenize carat_detokenize carat_render)
set(programs texts)
foreach(header carat carat_quality carat_convert)
  file(READ "${HEADERS}/${header}.h" example)
  string(REGEX REPLACE ".*example-begin(.*)example-end.*" "\\1" example "${example}")
  string(REGEX MATCHALL "carat_[a-z0-9_]+ *\\(" calls "${example}")
  list(TRANSFORM calls REPLACE " *\\(" "")
  set(program_${header} ${calls})
  list(APPEND programs ${header})
endforeach()

# Sections that not all of them need: "NAME OBJECT", and who does without.
set(apart)
foreach(program ${programs})
  list(TRANSFORM program_${program} PREPEND --undefined= OUTPUT_VARIABLE roots)
  run("${LINKER}" -r --gc-sections --print-gc-sections ${roots} -o "${folder}/needed.o" ${objects})
  string(REGEX MATCHALL "'\\.(text|rodata|data|bss)[^']*' in file '[^']+'" dropped "${said}")
  foreach(section ${dropped})
    string(REGEX REPLACE "'([^']+)' in file '([^']+)'" "\\1 \\2" section "${section}")
    if(NOT DEFINED "without_${section}")
      list(APPEND apart "${section}")
      set("without_${section}" ".not") # linkers take .text.ANY as .text
    endif()
    string(APPEND "without_${section}" "-${program}")
  endforeach()
endforeach()
file(REMOVE "${folder}/needed.o")
list(JOIN programs "-" all)

# Of each room the sections that lie apart, as a linker's script.
foreach(section ${apart})
  string(REGEX MATCH "^(\\.text\\.unlikely|\\.data\\.rel\\.ro|\\.rodata[^ ]*|\\.[a-z]+)([^ ]*) (.+)$"
    place "${section}")
  set(kind "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
  set(object "${CMAKE_MATCH_3}")
  set(with "${without_${section}}")
  if(with STREQUAL ".not-${all}")
    get_filename_component(with "${object}" NAME_WE)
    set(with ".${with}")
  endif()
  set(room "${room_of_${object}}")
  list(APPEND "groups_of_${room}" "${kind}${with}")
  string(APPEND "in_${room}_${kind}${with}" "    \"${object}\"(${name})\n")
endforeach()

set(merged)
foreach(room ${rooms})
  if(room MATCHES "-api$")
    foreach(object ${objects_of_${room}})
      get_filename_component(name "${object}" NAME)
      file(COPY_FILE "${object}" "${folder}/${name}")
      list(APPEND merged "${folder}/${name}")
    endforeach()
  else()
    set(script "SECTIONS {\n")
    list(REMOVE_DUPLICATES "groups_of_${room}")
    foreach(group ${groups_of_${room}})
      string(APPEND script "  ${group} 0 : {\n${in_${room}_${group}}  }\n")
    endforeach()
    foreach(kind .text.unlikely .text .data.rel.ro)
      string(APPEND script "  ${kind} 0 : { *(${kind} ${kind}.*) }\n")
    endforeach()
    file(WRITE "${folder}/${room}.script" "${script}}\n")
    run("${LINKER}" -r -T "${folder}/${room}.script" -o "${folder}/${room}.o" ${objects_of_${room}})
    list(APPEND merged "${folder}/${room}.o")
  endif()
endforeach()
foreach(object ${merged})
  run("${OBJCOPY}" --discard-all "${object}")
endforeach()
file(REMOVE "${ARCHIVE}")
run("${AR}" crsD "${ARCHIVE}" ${merged})
file(REMOVE_RECURSE "${folder}")
