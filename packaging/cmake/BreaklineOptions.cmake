# SPDX-License-Identifier: GPL-3.0-or-later
# Build options, compiler launcher, linker and warnings.
option(BREAKLINE_UI "Build Breakline Studio (Qt 6)" ON)
option(BREAKLINE_CPU "Build the LLVM CPU compiler" ON)
option(BREAKLINE_VULKAN "Build the Vulkan compute compiler" ON)
option(BREAKLINE_TESTS "Build the tests" ON)
option(BREAKLINE_SANITIZE "Address and undefined-behaviour sanitizers" OFF)
set(BREAKLINE_PYTHONS "" CACHE STRING "Interpreters (list of paths) that the engine extension is built for")

# A library's dependencies (Qt, …) are found in its own folder and linked from others: CMake 3.25 wants them global.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -fno-strict-aliasing -fvisibility=hidden)
if(BREAKLINE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
