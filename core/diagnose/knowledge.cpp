// SPDX-License-Identifier: GPL-3.0-or-later
// The set of records and how a text is matched to them. Signals, strongest first: the record's regular
// expression (as it stands, then with other names), its signature in either language by sentences, the
// headline or link of one of its break reasons, an alias; with none of these, shared words weighted by how
// rare they are.
#include "core/diagnose/knowledge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "core/diagnose/embedded.h"
#include "core/diagnose/match.h"
#include "core/diagnose/reasons.h"

namespace breakline::diagnose {
namespace {

constexpr std::size_t kLongestText = 4u << 20;
constexpr std::size_t kLongestFuzzyText = 20000;  // a page of a log says nothing by its mere words

// Scores of the signals. A signature's grows with the share of it that was found.
constexpr double kReasonAsked = 1.0;
constexpr double kRegex = 0.97;
constexpr double kGeneralRegex = 0.95;
constexpr double kFirstSentence = 0.75;
constexpr double kSentenceShare = 0.2;
constexpr double kLaterSentence = 0.4;
constexpr double kHeadline = 0.85;
constexpr double kSharedHeadline = 0.6;
constexpr double kSharedSignature = 0.8;  // of a record whose message is the headline of several kinds
constexpr double kAlias = 0.7;
constexpr double kExtraSignal = 0.01;
constexpr double kRelated = 0.55;  // of the score of the record that names it
constexpr double kStrong = 0.6;
constexpr double kWords = 0.45;  // at most, by words alone
constexpr double kLeastWords = 0.25;
constexpr std::size_t kShortSentence = 12;

struct Signature {
  std::vector<SentencePattern> sentences;
  std::size_t length = 0;
};

struct Indexed {
  Record record;
  std::unique_ptr<LinePattern> regex, general_regex;
  std::vector<Signature> signatures;  // English, Chinese
  std::vector<SentencePattern> aliases;
  std::set<std::string> words;
  bool shared_signature = false;
};

// A headline, page number or id of a break reason as it may stand in a text.
struct Headline {
  std::string text;  // normalised
  std::string page;  // "gb0170", or empty
  std::string reason;
};

Signature signature_of(const std::string& text) {
  Signature signature;
  signature.sentences = sentence_patterns(text);
  for (const SentencePattern& sentence : signature.sentences) signature.length += sentence.length;
  return signature;
}

void add_words(std::set<std::string>& words, std::string_view text) {
  for (std::string& token : tokens(normalise(text))) words.insert(std::move(token));
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Position of `word` in `text` with no word character on either side.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_character(text[at - 1])) &&
        (end == text.size() || !is_word_character(text[end])))
      return at;
  }
  return std::string_view::npos;
}

// The best signal so far, with the words that say which one.
struct Evidence {
  double score = 0;
  std::size_t position = std::string::npos;
  int signals = 0;
  std::string why;
  void offer(double value, std::size_t at, std::string text) {
    ++signals;
    if (value < score || (value == score && at >= position)) return;
    score = value;
    position = at;
    why = std::move(text);
  }
  double limit = 1;
  double total() const { return std::min(limit, score + kExtraSignal * std::max(0, signals - 1)); }
};

void match_signature(const Signature& signature, std::string_view text, const char* language,
                     Evidence& evidence) {
  std::size_t found = 0, first_position = std::string::npos;
  bool first = false;
  for (std::size_t i = 0; i < signature.sentences.size(); ++i) {
    const SentencePattern& sentence = signature.sentences[i];
    const auto at = sentence.find(text);
    if (!at) continue;
    if (sentence.length < kShortSentence && signature.sentences.size() > 1) continue;
    if (i == 0) first = true;
    found += sentence.length;
    first_position = std::min(first_position, *at);
  }
  if (found == 0) return;
  const double share = static_cast<double>(found) / static_cast<double>(signature.length);
  const double base = first ? kFirstSentence : kLaterSentence;
  evidence.offer(base + kSentenceShare * share, first_position,
                 std::string(share > 0.99 ? "whole message"
                             : first      ? "first sentence"
                                          : "part of the message") +
                     language);
}

}  // namespace

struct KnowledgeBase::State {
  std::vector<std::unique_ptr<Indexed>> records;
  std::map<std::string, const Indexed*, std::less<>> by_id;
  std::map<std::string, std::vector<const Indexed*>, std::less<>> by_reason;
  std::map<std::string, int> word_counts;
  std::vector<Headline> headlines;
  std::map<std::string, int, std::less<>> sharing;  // how many kinds have a headline

  State() {
    for (const Reason& reason : all_reasons()) {
      std::string page = reason.gb_id;
      std::transform(page.begin(), page.end(), page.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      headlines.push_back({normalise(fill_template(reason.type, {})), page, reason.id});
      ++sharing[headlines.back().text];
    }
  }
  void match_headlines(std::string_view normal, std::map<const Indexed*, Evidence>& found) const;
  void match_words(std::string_view normal, std::map<const Indexed*, Evidence>& found) const;
};

// Reasons whose headline, page or id stands in the text. Kinds that share a headline share the (lower) score.
void KnowledgeBase::State::match_headlines(std::string_view normal,
                                           std::map<const Indexed*, Evidence>& found) const {
  for (const Headline& headline : headlines) {
    const auto records = by_reason.find(headline.reason);
    if (records == by_reason.end()) continue;
    const double score = sharing.find(headline.text)->second > 1 ? kSharedHeadline : kHeadline;
    // An id without a hyphen is a plain word ("print") and tells only when it is all there is.
    const bool plain = headline.reason.find('-') == std::string::npos;
    std::size_t by_id =
        plain ? (normal == headline.reason ? 0 : std::string::npos) : find_word(normal, headline.reason);
    const std::size_t by_text = find_word(normal, headline.text);
    const std::size_t by_page = headline.page.empty() ? std::string::npos : find_word(normal, headline.page);
    for (const Indexed* record : records->second) {
      if (by_id != std::string::npos) found[record].offer(0.9, by_id, "name of the break reason");
      if (by_text != std::string::npos)
        found[record].offer(score, by_text, "headline of the break");
      else if (by_page != std::string::npos)
        found[record].offer(score, by_page, "link of the break");
    }
  }
}

// Last resort: cosine of the words, each weighted by how few records have it.
void KnowledgeBase::State::match_words(std::string_view normal,
                                       std::map<const Indexed*, Evidence>& found) const {
  std::set<std::string> asked;
  for (std::string& token : tokens(normal.substr(0, kLongestFuzzyText))) asked.insert(std::move(token));
  const double count = static_cast<double>(records.size());
  const auto weight = [&](const std::string& word) {
    const auto it = word_counts.find(word);
    return it == word_counts.end() ? 0.0 : std::log((count + 1) / it->second);
  };
  double asked_norm = 0;
  for (const std::string& word : asked) asked_norm += weight(word) * weight(word);
  if (asked_norm == 0) return;
  for (const auto& indexed : records) {
    double shared = 0, norm = 0;
    for (const std::string& word : indexed->words) {
      const double w = weight(word);
      norm += w * w;
      if (asked.count(word)) shared += w * w;
    }
    const double cosine = norm > 0 ? shared / std::sqrt(norm * asked_norm) : 0;
    if (kWords * cosine >= kLeastWords * kWords)
      found[indexed.get()].offer(kWords * cosine, 0, "shared words");
  }
}

KnowledgeBase::KnowledgeBase() : state_(std::make_unique<State>()) {}
KnowledgeBase::~KnowledgeBase() = default;
KnowledgeBase::KnowledgeBase(KnowledgeBase&&) noexcept = default;
KnowledgeBase& KnowledgeBase::operator=(KnowledgeBase&&) noexcept = default;

const KnowledgeBase& KnowledgeBase::builtin() {
  static const KnowledgeBase base = [] {
    KnowledgeBase loaded;
    for (const EmbeddedFile& file : embedded_knowledge()) {
      const auto added = loaded.add(file.text, file.name);
      if (added) continue;
      std::fprintf(stderr, "breakline: a built-in record is broken: %s\n", added.error().message.c_str());
      std::abort();
    }
    return loaded;
  }();
  return base;
}

Result<KnowledgeBase> KnowledgeBase::load_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".json") files.push_back(it->path());
  if (error) return Error{"Cannot read the folder " + folder + ": " + error.message() + "."};
  std::sort(files.begin(), files.end());
  KnowledgeBase base;
  for (const auto& path : files) {
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    if (!stream) return Error{"Cannot read " + path.string() + "."};
    const auto added = base.add(text, path.filename().string());
    if (!added) return added.error();
  }
  return base;
}

Result<const Record*> KnowledgeBase::add(std::string_view json_text, std::string_view origin) {
  auto parsed = parse_record(json_text, origin);
  if (!parsed) return parsed.error();
  if (state_->by_id.count(parsed->id))
    return Error{std::string(origin) + ": id: '" + parsed->id + "' is taken by another record"};
  auto indexed = std::make_unique<Indexed>();
  indexed->record = std::move(*parsed);
  const Record& record = indexed->record;
  indexed->regex = std::make_unique<LinePattern>(record.regex);
  const std::string general = generalise_names(record.regex);
  if (general != record.regex) indexed->general_regex = std::make_unique<LinePattern>(general);
  indexed->signatures.push_back(signature_of(record.signature));
  if (!record.signature_zh.empty()) indexed->signatures.push_back(signature_of(record.signature_zh));
  for (const std::string& alias : record.aliases)
    for (SentencePattern& pattern : sentence_patterns(alias)) indexed->aliases.push_back(std::move(pattern));
  for (const std::string* text :
       {&record.signature, &record.signature_zh, &record.root_cause, &record.root_cause_zh})
    add_words(indexed->words, *text);
  for (const std::string& text : record.aliases) add_words(indexed->words, text);
  for (const std::string& text : record.tags) add_words(indexed->words, text);
  for (const std::string& word : indexed->words) ++state_->word_counts[word];
  state_->by_id.emplace(record.id, indexed.get());
  const auto shared = state_->sharing.find(normalise(record.signature));
  indexed->shared_signature = shared != state_->sharing.end() && shared->second > 1;
  for (const std::string& reason : record.reasons) state_->by_reason[reason].push_back(indexed.get());
  state_->records.push_back(std::move(indexed));
  return &state_->records.back()->record;
}

const Record* KnowledgeBase::find(std::string_view id) const {
  const auto found = state_->by_id.find(id);
  return found == state_->by_id.end() ? nullptr : &found->second->record;
}

std::vector<const Record*> KnowledgeBase::records() const {
  std::vector<const Record*> list;
  for (const auto& indexed : state_->records) list.push_back(&indexed->record);
  return list;
}

std::vector<Match> KnowledgeBase::diagnose(std::string_view text, std::string_view reason_id,
                                           std::size_t most) const {
  text = text.substr(0, kLongestText);
  const std::string normal = normalise(text);
  std::map<const Indexed*, Evidence> found;

  if (const auto own = state_->by_reason.find(reason_id); own != state_->by_reason.end())
    for (const Indexed* indexed : own->second)
      found[indexed].offer(kReasonAsked, 0, "the break's own record");
  if (!normal.empty()) {
    for (const auto& indexed : state_->records) {
      const auto evidence = [&]() -> Evidence& { return found[indexed.get()]; };
      if (const auto at = indexed->regex->find(text))
        evidence().offer(kRegex, *at, "pattern of the message");
      else if (indexed->general_regex)
        if (const auto general = indexed->general_regex->find(text))
          evidence().offer(kGeneralRegex, *general, "pattern of the message, other names");
      const char* languages[] = {"", " (zh)"};
      for (std::size_t i = 0; i < indexed->signatures.size(); ++i) {
        Evidence signature;
        match_signature(indexed->signatures[i], normal, languages[i], signature);
        if (signature.signals) evidence().offer(signature.score, signature.position, signature.why);
      }
      for (const SentencePattern& alias : indexed->aliases)
        if (const auto at = alias.find(normal)) evidence().offer(kAlias, *at, "words of the message");
    }
    state_->match_headlines(normal, found);
    const bool strong = std::any_of(found.begin(), found.end(),
                                    [](const auto& entry) { return entry.second.score >= kStrong; });
    if (!strong) state_->match_words(normal, found);
  }

  // A message that several kinds share says less than one that is a kind's own.
  for (auto& [indexed, evidence] : found)
    if (indexed->shared_signature && evidence.score < kReasonAsked) evidence.limit = kSharedSignature;

  // Records that a strong match names as what it leads to or is confused with.
  std::map<const Indexed*, Evidence> related;
  for (const auto& [indexed, evidence] : found) {
    if (evidence.score < kStrong) continue;
    for (const std::string& id : indexed->record.related)
      if (const auto other = state_->by_id.find(id); other != state_->by_id.end())
        related[other->second].offer(kRelated * evidence.score, evidence.position,
                                     "related to " + indexed->record.id);
  }
  for (auto& [indexed, evidence] : related) {
    if (const auto own = found.find(indexed); own != found.end() && own->second.score >= evidence.score)
      continue;
    evidence.signals = 1;
    found[indexed] = evidence;
  }

  std::vector<std::pair<const Indexed*, Evidence>> ranked(found.begin(), found.end());
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    const double left = a.second.total(), right = b.second.total();
    if (left != right) return left > right;
    if (a.second.position != b.second.position) return a.second.position < b.second.position;
    return a.first->record.id < b.first->record.id;
  });
  std::vector<Match> matches;
  for (const auto& [indexed, evidence] : ranked) {
    if (matches.size() == most) break;
    if (evidence.signals) matches.push_back({&indexed->record, evidence.total(), evidence.why});
  }
  return matches;
}

}  // namespace breakline::diagnose
