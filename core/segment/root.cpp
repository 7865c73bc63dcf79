// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/root.h"

#include <algorithm>

namespace breakline::segment {

Root::Root(PyObject* function) : function_(py::Ref::borrow(function)) {}

uint64_t bound_hash(const resume::State& state) {
  uint64_t h = state.handled ? 0x51ull : 0x17ull;
  for (PyObject* o : state.slots) h = h * 1099511628211ull + (o ? 2 : 1);
  return h;
}

Site* Root::entry_site() {
  if (entry_) return entry_;
  auto* f = reinterpret_cast<PyFunctionObject*>(function_.get());
  resume::State state;
  resume::Frame frame;
  frame.code = bytecode::decode(reinterpret_cast<PyCodeObject*>(f->func_code));
  frame.function = function_.get();
  frame.globals = f->func_globals;
  frame.builtins = f->func_builtins;
  state.frames.push_back(frame);
  auto site = std::make_unique<Site>();
  site->id = next_site_++;
  trace::EntryFrame e;
  e.code = frame.code;
  e.function = frame.function;
  e.globals = frame.globals;
  e.builtins = frame.builtins;
  site->frames.push_back(e);
  entry_ = site.get();
  sites_["entry"] = std::move(site);
  return entry_;
}

Site* Root::site_for(const resume::State& state, const std::vector<int>& resumed_lines, const Segment* from,
                     const std::vector<int32_t>& unbacked) {
  std::string key;
  auto put = [&key](uint64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  for (const resume::Frame& f : state.frames) {
    put(reinterpret_cast<uint64_t>(f.code));
    put(reinterpret_cast<uint64_t>(f.globals));
    put(static_cast<uint64_t>(f.pc) << 32 | static_cast<uint64_t>(f.stack) << 8 | static_cast<uint64_t>(f.on_return));
  }
  for (PyObject* o : state.slots) key.push_back(o ? 'b' : 'n');
  key.push_back(state.handled ? 'h' : '-');
  for (int32_t i : unbacked) put(static_cast<uint64_t>(i));
  auto [it, fresh] = sites_.try_emplace(key);
  if (!fresh) return it->second.get();
  auto site = std::make_unique<Site>();
  site->id = next_site_++;
  site->hints.unbacked = unbacked;
  for (size_t i = 0; i < state.frames.size(); ++i) {
    const resume::Frame& f = state.frames[i];
    trace::EntryFrame e;
    e.code = f.code;
    e.globals = f.globals;
    e.builtins = f.builtins;
    e.locals = f.locals;
    e.pc = f.pc;
    e.stack = f.stack;
    e.on_return = f.on_return == resume::OnReturn::kDiscard ? trace::ReturnMode::kDiscard : trace::ReturnMode::kPush;
    e.resumed_line = i < resumed_lines.size() ? resumed_lines[i] : 0;
    if (from && i < from->frames.size() && from->frames[i].entry.code == f.code) {
      e.compile_root = from->frames[i].entry.compile_root;
      e.function = from->frames[i].entry.function;
    }
    site->kept.push_back(py::Ref::borrow(e.function));
    site->kept.push_back(py::Ref::borrow(f.globals));
    site->kept.push_back(py::Ref::borrow(f.builtins));
    site->frames.push_back(e);
  }
  it->second = std::move(site);
  return it->second.get();
}

void Root::skip(const std::string& what, const std::string& file, int line, const std::string& reason) {
  SkippedFrame s{what, file, reason, line};
  if (std::find(skipped.begin(), skipped.end(), s) == skipped.end()) skipped.push_back(std::move(s));
}

int Root::break_index(const trace::BreakInfo& info) {
  const trace::PlaceFrame* p = info.place.empty() ? nullptr : &info.place.back();
  std::string id = "b:" + (p ? p->file : "?") + ":" + std::to_string(p ? p->position.line : 0) + ":" +
                   std::to_string(p ? p->position.column : -1) + ":" + info.reason;
  for (size_t i = 0; i < breaks.size(); ++i)
    if (breaks[i].id == id) {
      breaks[i].live = true;
      return static_cast<int>(i);
    }
  BreakRecord r;
  r.id = id;
  r.info = info;
  breaks.push_back(std::move(r));
  return static_cast<int>(breaks.size()) - 1;
}

void Root::reset() {
  // A call in flight still holds pointers into the old sites.
  if (running) graveyard_.push_back(std::move(sites_));
  else graveyard_.clear();
  sites_.clear();
  entry_ = nullptr;
  stats = RootStats();
  breaks.clear();
  skipped.clear();
  edges.clear();
  regions.clear();
  next_segment = 0;
  ++resets;
}

void Root::add_region(const trace::Tracer::RegionSeen& r) {
  for (auto& old : regions)
    if (old.key == r.key) return;
  regions.push_back(r);
}

std::vector<Segment*> Root::all_segments() const {
  std::vector<Segment*> out;
  for (auto& [key, site] : sites_)
    for (auto& s : site->segments) out.push_back(s.get());
  std::sort(out.begin(), out.end(), [](Segment* a, Segment* b) { return a->id < b->id; });
  return out;
}

}  // namespace breakline::segment
