# SPDX-License-Identifier: GPL-3.0-or-later
# Run as a script: writes a C++ source with the text of files.
#   cmake -DOUT=x.cpp -DSYMBOL=breakline::diagnose::kFiles -DLIST=list.txt -P EmbedFiles.cmake
# LIST names one file a line. The symbol is a function that returns a span of EmbeddedFile {name, text}.
file(STRINGS ${LIST} files)
set(body "")
foreach(path IN LISTS files)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  string(APPEND body "    {\"${name}\", R\"breakline(${text})breakline\"},\n")
endforeach()
file(WRITE ${OUT} "// Generated from resources by EmbedFiles.cmake. Do not edit.
#include \"core/diagnose/embedded.h\"
namespace breakline::diagnose {
std::span<const EmbeddedFile> ${SYMBOL}() {
  static const EmbeddedFile files[] = {
${body}  };
  return files;
}
}  // namespace breakline::diagnose
")
