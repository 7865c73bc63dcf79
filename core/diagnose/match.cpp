// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/diagnose/match.h"

#include <algorithm>
#include <array>
#include <utility>

namespace breakline::diagnose {
namespace {

constexpr std::size_t kLongestLine = 2000;
constexpr std::size_t kLongestName = 200;

// UTF-8 sequences that mean the same as an ASCII character. Full-width marks swallow a following blank.
constexpr std::array<std::pair<std::string_view, char>, 17> kSameAs = {{
    {"‘", '\''},
    {"’", '\''},
    {"“", '\''},
    {"”", '\''},
    {"「", '\''},
    {"」", '\''},
    {"：", ':'},
    {"，", ','},
    {"。", '.'},
    {"（", '('},
    {"）", ')'},
    {"！", '!'},
    {"？", '?'},
    {"；", ';'},
    {"、", ','},
    {"＇", '\''},
    {"\u00a0", ' '},
}};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_mark(char c) { return c == ':' || c == ',' || c == '.' || c == ';' || c == '(' || c == ')'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

std::size_t sequence_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// Length of a terminal escape at `at` (ESC [ … letter), or 0.
std::size_t escape_length(std::string_view text, std::size_t at) {
  if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
  std::size_t end = at + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size()) - at;
}

// A name in plain quotes stands for any name; one in backticks ("`torch.cond`") is part of the sentence.
constexpr std::string_view kAnyName = "'\x01'";

std::string mark_names(std::string_view signature) {
  static const std::regex name("'[A-Za-z_][A-Za-z0-9_]*'");
  return std::regex_replace(std::string(signature), name, std::string(kAnyName));
}

SentencePattern pattern_of(std::string_view sentence) {
  SentencePattern pattern;
  for (std::size_t begin = 0;;) {
    // Each piece keeps the quotes around the names.
    const std::size_t name = sentence.find(kAnyName, begin);
    const std::size_t end = name == std::string_view::npos ? sentence.size() : name + 1;
    pattern.pieces.emplace_back(sentence.substr(begin, end - begin));
    pattern.length += pattern.pieces.back().size();
    if (name == std::string_view::npos) return pattern;
    begin = name + kAnyName.size() - 1;
  }
}

}  // namespace

std::string normalise(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto put = [&out](char c) {
    if (is_blank(c)) {
      // No blank at the start, twice, or behind a mark that stands for a full-width one.
      if (!out.empty() && out.back() != ' ') out += ' ';
      return;
    }
    if (is_mark(c) && !out.empty() && out.back() == ' ') out.pop_back();
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t skipped = escape_length(text, i)) {
      i += skipped;
      continue;
    }
    const std::size_t length = std::min(sequence_length(text[i]), text.size() - i);
    if (length == 1) {
      put(text[i] == '"' || text[i] == '`' ? '\'' : text[i]);
      ++i;
      continue;
    }
    const std::string_view sequence = text.substr(i, length);
    bool known = false;
    for (const auto& [utf8, ascii] : kSameAs) {
      if (utf8 != sequence) continue;
      put(ascii);
      if (is_mark(ascii)) put(' ');
      known = true;
      break;
    }
    if (!known) out += sequence;
    i += length;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::optional<std::size_t> SentencePattern::find(std::string_view normal_text) const {
  if (pieces.empty() || length == 0) return std::nullopt;
  for (std::size_t start = normal_text.find(pieces[0]); start != std::string_view::npos;
       start = normal_text.find(pieces[0], start + 1)) {
    std::size_t at = start + pieces[0].size();
    bool all = true;
    for (std::size_t i = 1; i < pieces.size() && all; ++i) {
      // The name ends at the next quote, with which the next piece starts.
      const std::size_t close = normal_text.find('\'', at);
      all = close != std::string_view::npos && close - at <= kLongestName &&
            normal_text.substr(close, pieces[i].size()) == pieces[i];
      if (all) at = close + pieces[i].size();
    }
    if (all) return start;
  }
  return std::nullopt;
}

std::vector<SentencePattern> sentence_patterns(std::string_view signature) {
  std::string text = normalise(mark_names(signature));
  for (std::string_view suffix : {"error:", "exception:", "warning:", "错误:"}) {
    const std::size_t at = text.find(suffix);
    const std::size_t first_blank = text.find(' ');
    if (at != std::string::npos && (first_blank == std::string::npos || at < first_blank)) {
      text.erase(0, at + suffix.size());
      while (!text.empty() && text.front() == ' ') text.erase(0, 1);
      break;
    }
  }
  std::vector<SentencePattern> patterns;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find(". ", begin);
    if (end == std::string::npos) end = text.size();
    std::string_view sentence(text.data() + begin, end - begin);
    while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ' ')) sentence.remove_suffix(1);
    if (!sentence.empty()) patterns.push_back(pattern_of(sentence));
    begin = end + 2;
  }
  return patterns;
}

std::string generalise_names(const std::string& pattern) {
  static const std::regex name("'([A-Za-z_][A-Za-z0-9_]*)'");
  return std::regex_replace(pattern, name, "'[^']*'");
}

namespace {

std::size_t shortest(const std::vector<std::string>& texts) {
  std::size_t length = std::string::npos;
  for (const std::string& text : texts) length = std::min(length, text.size());
  return texts.empty() ? 0 : length;
}

// Reads a pattern and finds texts of which every match contains at least one: the longest literal run of a
// sequence, a run for each side of an alternative. Anything it does not know (classes, wildcards, lookaheads)
// ends a run.
class FixedParts {
 public:
  explicit FixedParts(std::string_view pattern) : pattern_(pattern) {}
  std::vector<std::string> read() { return alternatives(); }

 private:
  // Up to the end or an unmatched ")": the union over the sides, or nothing when one side has no fixed part.
  std::vector<std::string> alternatives() {
    std::vector<std::string> all;
    bool every = true;
    for (;;) {
      const std::vector<std::string> side = sequence();
      every = every && !side.empty();
      all.insert(all.end(), side.begin(), side.end());
      if (at_ >= pattern_.size() || pattern_[at_] != '|') break;
      ++at_;
    }
    return every ? all : std::vector<std::string>();
  }

  void offer(std::vector<std::string> texts) {
    if (shortest(texts) > shortest(best_)) best_ = std::move(texts);
  }
  void end_run() {
    if (!run_.empty()) offer({run_});
    run_.clear();
  }
  // What follows an atom: 0 nothing, 1 it may be absent, 2 it is repeated but there.
  int quantifier() {
    if (at_ >= pattern_.size()) return 0;
    const char c = pattern_[at_];
    if (c == '{')
      while (at_ < pattern_.size() && pattern_[at_] != '}') ++at_;
    else if (c != '*' && c != '?' && c != '+')
      return 0;
    ++at_;
    if (at_ < pattern_.size() && pattern_[at_] == '?') ++at_;  // not greedy
    return c == '+' ? 2 : 1;
  }

  std::vector<std::string> sequence() {
    const std::vector<std::string> outer_best = std::exchange(best_, {});
    const std::string outer_run = std::exchange(run_, {});
    while (at_ < pattern_.size() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      char c = pattern_[at_++];
      if (c == '(') {
        end_run();
        const bool looks = pattern_.substr(at_, 2) == "?=" || pattern_.substr(at_, 2) == "?!";
        if (pattern_.substr(at_, 1) == "?") at_ += 2;
        std::vector<std::string> inner = alternatives();
        if (at_ < pattern_.size()) ++at_;  // ")"
        if (quantifier() != 1 && !looks) offer(std::move(inner));
        continue;
      }
      if (c == '[') {
        end_run();
        while (at_ < pattern_.size() && pattern_[at_] != ']') at_ += pattern_[at_] == '\\' ? 2 : 1;
        ++at_;
        quantifier();
        continue;
      }
      bool literal = c != '.' && c != '^' && c != '$';
      if (c == '\\' && at_ < pattern_.size()) {
        c = pattern_[at_++];
        literal = !is_word(c) && !(c >= 'A' && c <= 'Z');  // \. is a dot, \d a class
      }
      if (!literal) {
        end_run();
        quantifier();
        continue;
      }
      run_ += c;
      const int repeated = quantifier();
      if (repeated == 1) run_.pop_back();
      if (repeated) end_run();
    }
    end_run();
    run_ = outer_run;
    return std::exchange(best_, outer_best);
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::vector<std::string> best_;
  std::string run_;
};

}  // namespace

LinePattern::LinePattern(const std::string& pattern)
    : regex_(pattern), literals_(FixedParts(pattern).read()) {}

std::optional<std::size_t> LinePattern::find(std::string_view text) const {
  std::vector<std::size_t> next(literals_.size(), 0);  // the next hit of each, kept while it lies ahead
  std::size_t begin = 0;
  bool fresh = true;
  while (begin <= text.size()) {
    if (!literals_.empty()) {
      std::size_t hit = std::string_view::npos;
      for (std::size_t i = 0; i < literals_.size(); ++i) {
        if (fresh || next[i] < begin) next[i] = text.find(literals_[i], begin);
        hit = std::min(hit, next[i]);
      }
      fresh = false;
      if (hit == std::string_view::npos) return std::nullopt;
      const std::size_t line = text.rfind('\n', hit);
      if (line != std::string_view::npos) begin = std::max(begin, line + 1);
    }
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(begin, std::min(end - begin, kLongestLine));
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_search(line.begin(), line.end(), match, regex_))
      return begin + static_cast<std::size_t>(match.position());
    begin = end + 1;
  }
  return std::nullopt;
}

std::vector<std::string> tokens(std::string_view normal_text) {
  std::vector<std::string> list;
  std::string word;
  std::string_view last_character;
  for (std::size_t i = 0; i < normal_text.size();) {
    const std::size_t length = std::min(sequence_length(normal_text[i]), normal_text.size() - i);
    const std::string_view character = normal_text.substr(i, length);
    i += length;
    if (length == 1 && is_word(character[0])) {
      word += character[0];
      last_character = {};
      continue;
    }
    if (word.size() >= 3) list.push_back(word);
    word.clear();
    if (length == 3) {  // Chinese text: pairs of neighbours
      if (!last_character.empty()) list.push_back(std::string(last_character) + std::string(character));
      last_character = character;
    } else {
      last_character = {};
    }
  }
  if (word.size() >= 3) list.push_back(word);
  return list;
}

}  // namespace breakline::diagnose
