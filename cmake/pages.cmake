# SPDX-License-Identifier: Apache-2.0
# pages.cmake: writes OUT/man1/*.1 and the completion scripts by asking the command CARAT for them. Which
# verbs have a page is read out of the command's own page.
file(REMOVE_RECURSE ${OUT})
function(ask file)
  execute_process(COMMAND ${CARAT} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${OUT}/${file} "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

ask(carat.bash completion bash)
ask(_carat completion zsh)
ask(carat.fish completion fish)
ask(man1/carat.1 help --man)
string(REGEX MATCHALL "BR carat.-[a-z]+" verbs "${text}")
list(REMOVE_DUPLICATES verbs)
foreach(verb ${verbs})
  string(REGEX REPLACE ".*-" "" verb ${verb})
  ask(man1/carat-${verb}.1 help --man ${verb})
endforeach()
