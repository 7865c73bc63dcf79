// SPDX-License-Identifier: GPL-3.0-or-later
// The text report of `breakline diagnose`, in English and Simplified Chinese.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/diagnose/knowledge.h"

namespace breakline::diagnose {
namespace {

// All fixed words of the report, one row per language.
struct Words {
  const char* match;
  const char* root_cause;
  const char* dead_ends;
  const char* why_fails;
  const char* fail_rate;
  const char* workarounds;
  const char* success_rate;
  const char* how;
  const char* condition;
  const char* links;
  const char* trust;
  const char* tier;
  const char* confidence;
  const char* evidence;
  const char* last_confirmed;
  const char* not_measured;
  const char* none;
  const char* nothing_found;
  const char* not_translated;
  const char* colon;
};
constexpr Words kEnglish = {"match",
                            "Root cause",
                            "Dead ends (do not help)",
                            "why it fails",
                            "fails",
                            "Workarounds, by success rate",
                            "success rate",
                            "how",
                            "when",
                            "Links",
                            "Trust",
                            "tier",
                            "confidence",
                            "evidence",
                            "last confirmed",
                            "not measured",
                            "none known",
                            "No record fits this text. Paste the whole message, with its first line.",
                            "",
                            ": "};
constexpr Words kChinese = {"匹配度",     "根本原因", "无效做法",
                            "为何无效",   "失败率",   "解决办法（按成功率排序）",
                            "成功率",     "做法",     "适用条件",
                            "链接",       "可信度",   "验证等级",
                            "置信度",     "证据数",   "最近确认",
                            "未测量",     "暂无",     "没有匹配的记录。请粘贴完整的报错信息，包括第一行。",
                            "（未翻译）", "："};

const Words& words_of(Language language) { return language == Language::Chinese ? kChinese : kEnglish; }

// What Match::why can say, in Chinese.
constexpr std::pair<std::string_view, std::string_view> kWhyChinese[] = {
    {"the break's own record", "该断裂自己的记录"},
    {"pattern of the message, other names", "报错模式（名称不同）"},
    {"pattern of the message", "报错模式"},
    {"whole message (zh)", "完整报错（中文）"},
    {"first sentence (zh)", "首句（中文）"},
    {"part of the message (zh)", "部分报错（中文）"},
    {"whole message", "完整报错"},
    {"first sentence", "首句"},
    {"part of the message", "部分报错"},
    {"name of the break reason", "断裂原因的名称"},
    {"headline of the break", "断裂的标题"},
    {"link of the break", "断裂的链接"},
    {"words of the message", "报错用语"},
    {"shared words", "共同词语"},
    {"related to ", "相关记录："},
};

std::string why_text(const std::string& why, Language language) {
  if (language == Language::English) return why;
  for (const auto& [english, chinese] : kWhyChinese)
    if (why.starts_with(english)) return std::string(chinese) + why.substr(english.size());
  return why;
}

std::string percent(const std::optional<double>& rate, const Words& words) {
  if (!rate) return words.not_measured;
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", *rate * 100);
  return text;
}

// A text in the asked language; English with a mark where there is no translation.
std::string translated(const std::string& english, const std::string& chinese, Language language) {
  if (language == Language::English) return english;
  const bool missing = chinese.empty() || chinese == english;
  return missing ? english + kChinese.not_translated : chinese;
}

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // Three-byte sequences from U+1100 on that are East Asian wide; the dashes and quotes of U+2xxx are narrow.
  const bool wide = bytes == 3 ? lead >= 0xe3 : bytes == 4;
  return {std::min(bytes, text.size() - at), wide ? 2u : 1u};
}

// Appends `text` with `first` before its first line and `rest` blanks before the others.
void put(std::string& out, const std::string& first, std::size_t rest, std::string_view text,
         std::size_t width) {
  out += first;
  std::size_t column = 0;
  for (std::size_t i = 0; i < first.size();) {
    const Character c = character_at(first, i);
    column += c.columns;
    i += c.bytes;
  }
  const auto new_line = [&] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
    out.append(rest, ' ');
    column = rest;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\n') {
      new_line();
      ++i;
      continue;
    }
    // One unbreakable piece: a wide character, or a word up to the next blank or wide character.
    std::size_t end = i, columns = 0;
    do {
      const Character c = character_at(text, end);
      if (c.columns == 2 && end != i) break;
      end += c.bytes;
      columns += c.columns;
      if (c.columns == 2 || text[i] == ' ') break;
    } while (end < text.size() && text[end] != ' ' && text[end] != '\n');
    const std::string_view piece = text.substr(i, end - i);
    // A full stop or comma of Chinese text stays on its line even when it is one column too far.
    const bool mark =
        piece == "。" || piece == "，" || piece == "；" || piece == "：" || piece == "）" || piece == "、";
    if (width && column + columns > width && column > rest && !mark) new_line();
    if (piece != " " || column > rest) {
      out += piece;
      column += columns;
    }
    i = end;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

void put_sources(std::string& out, const std::vector<std::string>& sources, std::size_t indent) {
  for (const std::string& source : sources) put(out, std::string(indent, ' ') + "- ", indent + 2, source, 0);
}

void put_record(std::string& out, const Match& match, Language language, std::size_t width) {
  const Words& words = words_of(language);
  const Record& record = *match.record;
  char score[16];
  std::snprintf(score, sizeof score, "%.2f", match.score);
  put(out, "", 2, translated(record.signature, record.signature_zh, language), width);
  put(out, "  ", 2,
      record.id + "  (" + words.match + " " + score +
          (match.why.empty() ? "" : ", " + why_text(match.why, language)) + ")",
      width);

  out += std::string("\n  ") + words.root_cause + "\n";
  put(out, "    ", 4, translated(record.root_cause, record.root_cause_zh, language), width);

  out += std::string("\n  ") + words.dead_ends + "\n";
  if (record.dead_ends.empty()) out += std::string("    ") + words.none + "\n";
  for (const DeadEnd& end : record.dead_ends) {
    put(out, "    x ", 6, translated(end.action, end.action_zh, language), width);
    put(out, "      ", 6,
        words.why_fails + std::string(words.colon) + translated(end.why_fails, end.why_fails_zh, language),
        width);
    if (!end.condition.empty())
      put(out, "      ", 6, words.condition + std::string(words.colon) + end.condition, width);
    put(out, "      ", 6, words.fail_rate + std::string(words.colon) + percent(end.fail_rate, words), width);
    put_sources(out, end.sources, 6);
  }

  out += std::string("\n  ") + words.workarounds + "\n";
  if (record.workarounds.empty()) out += std::string("    ") + words.none + "\n";
  std::vector<const Workaround*> ordered;
  for (const Workaround& workaround : record.workarounds) ordered.push_back(&workaround);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Workaround* a, const Workaround* b) {
    return a->success_rate.value_or(-1) > b->success_rate.value_or(-1);
  });
  int number = 0;
  for (const Workaround* workaround : ordered) {
    put(out, "    " + std::to_string(++number) + ". ", 7,
        translated(workaround->action, workaround->action_zh, language), width);
    put(out, "       ", 7,
        words.success_rate + std::string(words.colon) + percent(workaround->success_rate, words), width);
    if (workaround->how != workaround->action)
      put(out, "       ", 7,
          words.how + std::string(words.colon) + translated(workaround->how, workaround->how_zh, language),
          width);
    if (!workaround->condition.empty())
      put(out, "       ", 7, words.condition + std::string(words.colon) + workaround->condition, width);
    put_sources(out, workaround->sources, 7);
  }

  if (!record.official_doc_url.empty()) {
    out += std::string("\n  ") + words.links + "\n";
    put(out, "    ", 4, record.official_doc_url, 0);
  }
  out += std::string("\n  ") + words.trust + "\n";
  std::string trust = words.tier + std::string(words.colon) + record.verification_tier + " · " +
                      words.confidence + words.colon + percent(record.confidence, words) + " · " +
                      words.evidence + words.colon + std::to_string(record.evidence_count);
  if (!record.last_confirmed.empty())
    trust += std::string(" · ") + words.last_confirmed + words.colon + record.last_confirmed;
  put(out, "    ", 4, trust, width);
}

}  // namespace

std::string render_matches(std::span<const Match> matches, Language language, std::size_t width) {
  if (matches.empty()) return std::string(words_of(language).nothing_found) + "\n";
  std::string out;
  for (const Match& match : matches) {
    if (!out.empty()) out += "\n";
    put_record(out, match, language, width);
  }
  return out;
}

}  // namespace breakline::diagnose
