# SPDX-License-Identifier: GPL-3.0-or-later
# Functions that declare the project's targets. Include paths are always "core/<folder>/<file>.h" or "ui/...".

# breakline_library(<folder> SOURCES ... [DEPS ...] [PRIVATE_DEPS ...])
#   A static library bl_<folder> without Python.
function(breakline_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(bl_${name} STATIC ${ARG_SOURCES})
  target_include_directories(bl_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(bl_${name} PUBLIC bl_${dep})
  endforeach()
  if(ARG_PRIVATE_DEPS)
    target_link_libraries(bl_${name} PRIVATE ${ARG_PRIVATE_DEPS})
  endif()
endfunction()

# breakline_python_library(<folder> SOURCES ... [DEPS ...])
#   One static library bl_<folder>_<tag> for each CPython; DEPS name folders of either kind.
function(breakline_python_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  foreach(tag IN LISTS BREAKLINE_PY_TAGS)
    set(target bl_${name}_${tag})
    add_library(${target} STATIC ${ARG_SOURCES})
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
    target_include_directories(${target} SYSTEM PUBLIC ${BREAKLINE_PY_${tag}_INCLUDE})
    foreach(dep IN LISTS ARG_DEPS)
      if(TARGET bl_${dep}_${tag})
        target_link_libraries(${target} PUBLIC bl_${dep}_${tag})
      else()
        target_link_libraries(${target} PUBLIC bl_${dep})
      endif()
    endforeach()
  endforeach()
endfunction()

# breakline_test(<name> SOURCES ... [DEPS targets...] [LABEL kind])
#   A Qt Test executable registered with CTest, run offscreen.
function(breakline_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES AUTOMOC ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE Qt6::Test ${ARG_DEPS})
  target_compile_definitions(${name} PRIVATE
      BREAKLINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" BREAKLINE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 300
      ENVIRONMENT "QT_QPA_PLATFORM=offscreen;XDG_RUNTIME_DIR=/tmp")
endfunction()

# breakline_python_test(<name> SCRIPT file [ARGS ...] [LABEL kind] [TIMEOUT seconds])
#   A Python-driven test: `build/bin/breakline python SCRIPT ARGS...` in the chosen interpreter with breakline importable.
function(breakline_python_test name)
  cmake_parse_arguments(ARG "" "SCRIPT;LABEL;TIMEOUT" "ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_BINARY_DIR}/bin/breakline python ${ARG_SCRIPT} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
      ENVIRONMENT "PYTHONHASHSEED=0;BREAKLINE_SOURCE_DIR=${CMAKE_SOURCE_DIR};BREAKLINE_BINARY_DIR=${CMAKE_BINARY_DIR}")
endfunction()

# breakline_each_python_test(<name> SCRIPT file [ARGS ...] [LABEL kind] [TIMEOUT seconds])
#   A test of the breakline package that needs no PyTorch, as <name>_<tag> in each interpreter that the engine is built for.
function(breakline_each_python_test name)
  cmake_parse_arguments(ARG "" "SCRIPT;LABEL;TIMEOUT" "ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  foreach(tag IN LISTS BREAKLINE_PY_TAGS)
    add_test(NAME ${name}_${tag} COMMAND ${BREAKLINE_PY_${tag}_EXE} ${ARG_SCRIPT} ${ARG_ARGS})
    set_tests_properties(${name}_${tag} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
        ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python;PYTHONHASHSEED=0;PYTHONDONTWRITEBYTECODE=1;BREAKLINE_SOURCE_DIR=${CMAKE_SOURCE_DIR};BREAKLINE_BINARY_DIR=${CMAKE_BINARY_DIR}")
  endforeach()
endfunction()
