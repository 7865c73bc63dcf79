// SPDX-License-Identifier: GPL-3.0-or-later
// Records of known failures: what they are, what does not help and why, what does. The form is written down
// in resources/knowledge/README.md. Nothing here runs user code.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace breakline::diagnose {

/// Something people try that does not help. Empty zh fields are not translated; a rate without a value was
/// never measured.
struct DeadEnd {
  std::string action, action_zh;
  std::string why_fails, why_fails_zh;
  std::string condition;
  std::optional<double> fail_rate;
  std::vector<std::string> sources;
};

/// Something that helps.
struct Workaround {
  std::string action, action_zh;
  std::string how, how_zh;
  std::string condition;
  std::optional<double> success_rate;
  std::vector<std::string> sources;
};

/// One record. `json` is the whole document as it was read, unknown fields included.
struct Record {
  std::string id;
  std::string signature, signature_zh;
  std::string regex;
  std::string domain, category, root_cause_type;
  std::string root_cause, root_cause_zh;
  std::vector<DeadEnd> dead_ends;
  std::vector<Workaround> workarounds;
  std::vector<std::string> aliases;
  std::vector<std::string> tags;
  std::vector<std::string> reasons;  ///< ids of break reasons that this record explains
  std::string official_doc_url;
  std::vector<std::string> related;  ///< ids of records from transition_graph
  std::string verification_tier, resolvable;
  std::string first_seen, last_confirmed, last_updated;
  std::optional<double> confidence;
  std::optional<double> fix_success_rate;
  std::size_t evidence_count = 0;
  std::string json;
};

/// Parses and checks one record. The error names `origin` and the path of the field that is wrong, e.g.
/// "x.json: dead_ends[1].fail_rate: expected a number from 0 to 1 or null".
Result<Record> parse_record(std::string_view json_text, std::string_view origin);

/// A record that fits a question. `score` is between 0 and 1; `why` says in a few words what matched.
struct Match {
  const Record* record = nullptr;
  double score = 0;
  std::string why;
};

/// A set of records with their index. Immutable after loading, so any thread may ask.
class KnowledgeBase {
 public:
  KnowledgeBase();
  ~KnowledgeBase();
  KnowledgeBase(KnowledgeBase&&) noexcept;
  KnowledgeBase& operator=(KnowledgeBase&&) noexcept;

  /// The records of resources/knowledge, built in. Loaded on first use; a broken one ends the program (the
  /// unit test and the build's own check find it first).
  static const KnowledgeBase& builtin();

  /// The records of every *.json file of a folder (not its subfolders), in the order of their names.
  static Result<KnowledgeBase> load_folder(const std::string& folder);

  /// Adds one record. Fails on a broken one and on an id that is there already.
  Result<const Record*> add(std::string_view json_text, std::string_view origin);

  const Record* find(std::string_view id) const;
  std::vector<const Record*> records() const;

  /// The records that fit a pasted text (error, log, traceback), best first. With a reason id its own record
  /// comes first, then the general ones for any break; the text may then be empty. Empty when nothing fits.
  /// Cost: linear in the text; texts above 4 MiB are cut.
  std::vector<Match> diagnose(std::string_view text, std::string_view reason_id = {},
                              std::size_t most = 5) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class Language { English, Chinese };

/// The report of `breakline diagnose`: for each match root cause, dead ends, workarounds by success rate,
/// links and how far the record can be trusted. Fields without a translation are shown in English and marked
/// "(未翻译)". `width` is the line length to wrap at (columns; East Asian characters count two), 0 for no
/// wrapping.
std::string render_matches(std::span<const Match> matches, Language language, std::size_t width = 100);

/// `[{"record": …, "score": …, "why": …}]`, records as they were read.
std::string matches_to_json(std::span<const Match> matches);

}  // namespace breakline::diagnose
