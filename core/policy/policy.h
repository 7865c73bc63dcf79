// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace breakline::policy {

enum class Setting : uint8_t { kInherit, kAllow, kError };
const char* setting_name(Setting s);
Result<Setting> parse_setting(const std::string& text);

/// One overlay: `fn:FILE:QUALNAME`, `lines:FILE:A-B`, `module:TARGET:layers.3.attn` = inherit | allow |
/// error.
struct Overlay {
  enum Kind : uint8_t { kFunction, kLines, kModule } kind;
  std::string key;
  std::string file;    ///< as written: relative to the script's folder, absolute, or package.module
  std::string name;    ///< QUALNAME, or module path
  std::string target;  ///< kModule only
  int first_line = 0, last_line = 0;
  Setting setting = Setting::kInherit;
};
/// Error: one sentence naming the key and the expected form.
Result<Overlay> parse_overlay(const std::string& key, const std::string& value);

/// A region object (`with error_on_graph_break(flag)`, decorator) active in a frame, as the tracer sees it on
/// the operand stack.
struct ActiveRegion {
  bool error = false;
  bool decorator = false;  ///< the frame is the wrapper of a decorated function
  int line = 0;            ///< where the with statement starts (0 unknown)
  std::string key;         ///< stable key for reports: "with:FILE:LINE" or "decorator:FILE:QUALNAME"
};

/// One frame of a continuation, outermost first.
struct FrameView {
  std::string file;  ///< absolute path of the code
  std::string qualname;
  std::string module_path;  ///< for the forward of a submodule of the target: "layers.3.attn"; else ""
  int line = 0;             ///< of the instruction that breaks, or of the pending call in outer frames
  std::vector<ActiveRegion> regions;  ///< innermost last
  bool compile_root = false;          ///< frame of a nested compiled function
  bool fullgraph = false;             ///< that nested compiled function's own fullgraph
};

struct Resolution {
  bool error = false;
  std::string source;  ///< "default", "fullgraph", "ambient", region key or overlay key
};

/// The overlays in force. Immutable; a toggle makes a new one with a higher generation.
class OverlaySet {
 public:
  OverlaySet() = default;
  OverlaySet(std::vector<Overlay> overlays, std::string script_folder, uint64_t generation);
  uint64_t generation() const { return generation_; }
  const std::vector<Overlay>& overlays() const { return overlays_; }
  /// Shortest line overlay with a setting that contains `line` of `file`, or null.
  const Overlay* find_lines(const std::string& file, int line) const;
  const Overlay* find_function(const std::string& file, const std::string& qualname) const;
  const Overlay* find_module(const std::string& target, const std::string& path) const;
  /// Hash of the settings that touch (file, qualname, module) anywhere: part of a segment's key, so that a
  /// toggle elsewhere leaves the segment valid and a toggle here never meets a stale one.
  uint64_t fingerprint(const std::string& target, const std::vector<FrameView>& frames) const;

 private:
  bool same_file(const std::string& written, const std::string& absolute) const;
  std::vector<Overlay> overlays_;
  std::string folder_;
  uint64_t generation_ = 0;
};

/// What to do at a break. `fullgraph`: of the root. `ambient`: the flag around the root's call (default
/// false).
Resolution resolve(const OverlaySet& overlays, const std::string& target,
                   const std::vector<FrameView>& frames, bool fullgraph, bool ambient);

}  // namespace breakline::policy
