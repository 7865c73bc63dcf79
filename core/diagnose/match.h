// SPDX-License-Identifier: GPL-3.0-or-later
// Text matching for the knowledge base: normal form, sentences with wildcards for quoted names, tokens.
// Private to this folder.
#pragma once
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace breakline::diagnose {

/// Lower case (ASCII), terminal escapes dropped, all quotes the same, full-width punctuation as ASCII, runs
/// of blanks and line ends as one space; blanks next to full-width punctuation go. So wrapped logs and either
/// language's typography compare equal.
std::string normalise(std::string_view text);

/// A normalised sentence in which each quoted name stands for any name: the pieces between the names.
struct SentencePattern {
  std::vector<std::string> pieces;
  std::size_t length = 0;  ///< bytes of all pieces: how much text a hit explains
  /// Position in a normalised text, if it occurs there.
  std::optional<std::size_t> find(std::string_view normal_text) const;
};

/// The sentences of a signature. A leading "SomeError:" is dropped: logs often lack it.
std::vector<SentencePattern> sentence_patterns(std::string_view signature);

/// A regular expression searched line by line, only in lines where one of its fixed parts occurs.
class LinePattern {
 public:
  /// `pattern` must compile (the schema check saw to that).
  explicit LinePattern(const std::string& pattern);
  /// The byte offset of the first hit, if any. Lines are cut at 2,000 bytes.
  std::optional<std::size_t> find(std::string_view text) const;
  /// Texts of which every match contains at least one; empty when the pattern promises none. For tests.
  const std::vector<std::string>& literals() const { return literals_; }

 private:
  std::regex regex_;
  std::vector<std::string> literals_;
};

/// `pattern` with each quoted fixed name ('forward') replaced by any name.
std::string generalise_names(const std::string& pattern);

/// Words of a normalised text (three letters or more) and pairs of neighbouring Chinese characters.
std::vector<std::string> tokens(std::string_view normal_text);

}  // namespace breakline::diagnose
