# SPDX-License-Identifier: GPL-3.0-or-later
# Asks each interpreter of BREAKLINE_PYTHONS for its headers and extension suffix.
# Sets BREAKLINE_PY_TAGS (e.g. "311;312") and, per tag, BREAKLINE_PY_<tag>_{EXE,INCLUDE,SUFFIX}.
if(NOT BREAKLINE_PYTHONS)
  find_program(_bl_python NAMES python3 REQUIRED)
  set(BREAKLINE_PYTHONS ${_bl_python})
endif()
set(BREAKLINE_PY_TAGS "")
foreach(exe IN LISTS BREAKLINE_PYTHONS)
  execute_process(
    COMMAND ${exe} -c "import sys, sysconfig; print('%d%d;%s;%s' % (sys.version_info[0], sys.version_info[1], sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX')))"
    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET answer 0 tag)
  list(GET answer 1 include)
  list(GET answer 2 suffix)
  if(NOT EXISTS ${include}/Python.h)
    message(FATAL_ERROR "${exe} has no development headers (${include}/Python.h): install its -dev package")
  endif()
  if(NOT tag IN_LIST BREAKLINE_PY_TAGS)
    list(APPEND BREAKLINE_PY_TAGS ${tag})
    set(BREAKLINE_PY_${tag}_EXE ${exe})
    set(BREAKLINE_PY_${tag}_INCLUDE ${include})
    set(BREAKLINE_PY_${tag}_SUFFIX ${suffix})
  endif()
endforeach()
message(STATUS "Engine extension for CPython: ${BREAKLINE_PY_TAGS}")
