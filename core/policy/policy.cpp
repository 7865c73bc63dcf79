// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/policy.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace breakline::policy {

const char* setting_name(Setting s) {
  static constexpr const char* kNames[] = {"inherit", "allow", "error"};
  return kNames[static_cast<int>(s)];
}

Result<Setting> parse_setting(const std::string& text) {
  for (Setting s : {Setting::kInherit, Setting::kAllow, Setting::kError})
    if (text == setting_name(s)) return s;
  return Error{"policy value '" + text + "' is not known: use inherit, allow or error"};
}

namespace {

Error bad_key(const std::string& key) {
  return Error{"policy key '" + key +
               "' is not understood: use fn:FILE:QUALNAME, lines:FILE:A-B or module:TARGET:layers.3.attn"};
}

bool parse_int(const std::string& text, int& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Overlay> parse_overlay(const std::string& key, const std::string& value) {
  Result<Setting> setting = parse_setting(value);
  if (!setting) return setting.error();
  size_t first = key.find(':');
  size_t last = key.rfind(':');
  if (first == std::string::npos || last == first || last + 1 == key.size()) return bad_key(key);
  std::string kind = key.substr(0, first);
  Overlay o;
  o.key = key;
  o.setting = *setting;
  std::string middle = key.substr(first + 1, last - first - 1);
  std::string tail = key.substr(last + 1);
  if (middle.empty()) return bad_key(key);
  if (kind == "fn") {
    o.kind = Overlay::kFunction;
    o.file = middle;
    o.name = tail;
  } else if (kind == "lines") {
    o.kind = Overlay::kLines;
    o.file = middle;
    size_t dash = tail.find('-');
    std::string a = tail.substr(0, dash);
    std::string b = dash == std::string::npos ? a : tail.substr(dash + 1);
    if (!parse_int(a, o.first_line) || !parse_int(b, o.last_line) || o.first_line < 1 ||
        o.last_line < o.first_line)
      return Error{"policy key '" + key + "' has no valid line range: write lines:FILE:A-B with 1 <= A <= B"};
  } else if (kind == "module") {
    // TARGET may itself hold colons (file.py:Net()); the module path is what follows the last one.
    o.kind = Overlay::kModule;
    o.target = middle;
    o.name = tail;
  } else {
    return bad_key(key);
  }
  return o;
}

OverlaySet::OverlaySet(std::vector<Overlay> overlays, std::string script_folder, uint64_t generation)
    : overlays_(std::move(overlays)), folder_(std::move(script_folder)), generation_(generation) {}

bool OverlaySet::same_file(const std::string& written, const std::string& absolute) const {
  if (written == absolute) return true;
  if (!written.empty() && written[0] != '/') {
    if (!folder_.empty() && folder_ + "/" + written == absolute) return true;
    // package.module: dots become slashes, matched as a path suffix.
    if (written.find('/') == std::string::npos && !written.ends_with(".py")) {
      std::string path = written;
      std::replace(path.begin(), path.end(), '.', '/');
      for (const char* tail : {".py", "/__init__.py"}) {
        std::string suffix = "/" + path + tail;
        if (absolute.size() >= suffix.size() && absolute.ends_with(suffix)) return true;
      }
    }
  }
  return false;
}

const Overlay* OverlaySet::find_lines(const std::string& file, int line) const {
  const Overlay* best = nullptr;
  for (const Overlay& o : overlays_) {
    if (o.kind != Overlay::kLines || o.setting == Setting::kInherit) continue;
    if (line < o.first_line || line > o.last_line || !same_file(o.file, file)) continue;
    if (!best || o.last_line - o.first_line < best->last_line - best->first_line) best = &o;
  }
  return best;
}

const Overlay* OverlaySet::find_function(const std::string& file, const std::string& qualname) const {
  for (const Overlay& o : overlays_)
    if (o.kind == Overlay::kFunction && o.setting != Setting::kInherit && o.name == qualname &&
        same_file(o.file, file))
      return &o;
  return nullptr;
}

const Overlay* OverlaySet::find_module(const std::string& target, const std::string& path) const {
  if (path.empty()) return nullptr;
  for (const Overlay& o : overlays_)
    if (o.kind == Overlay::kModule && o.setting != Setting::kInherit && o.name == path &&
        (o.target == target || target.empty() || target.ends_with(":" + o.target) || o.target == "*"))
      return &o;
  return nullptr;
}

uint64_t OverlaySet::fingerprint(const std::string& target, const std::vector<FrameView>& frames) const {
  uint64_t hash = 0;
  auto mix = [&](const Overlay* o) {
    if (o)
      hash =
          hash * 1099511628211ull + std::hash<std::string>()(o->key) * 3 + static_cast<uint64_t>(o->setting);
  };
  for (const FrameView& f : frames) {
    for (const Overlay& o : overlays_)
      if (o.kind == Overlay::kLines && same_file(o.file, f.file)) mix(&o);
    mix(find_function(f.file, f.qualname));
    mix(find_module(target, f.module_path));
  }
  return hash;
}

Resolution resolve(const OverlaySet& overlays, const std::string& target,
                   const std::vector<FrameView>& frames, bool fullgraph, bool ambient) {
  if (fullgraph) return {true, "fullgraph"};
  for (const FrameView& f : frames)
    if (f.compile_root && f.fullgraph) return {true, "fullgraph"};
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    const FrameView& f = *it;
    if (const Overlay* o = overlays.find_lines(f.file, f.line)) {
      // A code region that starts inside the overlay's range is the inner one and wins.
      const ActiveRegion* inner = nullptr;
      for (const ActiveRegion& r : f.regions)
        if (!r.decorator && r.line > o->first_line && r.line <= o->last_line) inner = &r;
      if (inner) return {inner->error, inner->key};
      return {o->setting == Setting::kError, o->key};
    }
    const ActiveRegion* with = nullptr;
    const ActiveRegion* decorator = nullptr;
    for (const ActiveRegion& r : f.regions) (r.decorator ? decorator : with) = &r;
    if (with) return {with->error, with->key};
    if (const Overlay* o = overlays.find_module(target, f.module_path))
      return {o->setting == Setting::kError, o->key};
    if (const Overlay* o = overlays.find_function(f.file, f.qualname))
      return {o->setting == Setting::kError, o->key};
    if (decorator) return {decorator->error, decorator->key};
  }
  return {ambient, ambient ? "ambient" : "default"};
}

}  // namespace breakline::policy
