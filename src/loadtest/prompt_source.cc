#include "loadtest/prompt_source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/counter_rng.h"

namespace millrace::loadtest {
namespace {

constexpr std::array<std::string_view, 64> kWords = {
    "time",  "year",   "people", "way",     "day",     "man",     "thing",    "woman",   "life",       "child",
    "world", "school", "state",  "family",  "student", "group",   "country",  "problem", "hand",       "part",
    "place", "case",   "week",   "company", "system",  "program", "question", "work",    "government", "number",
    "night", "point",  "home",   "water",   "room",    "mother",  "area",     "money",   "story",      "fact",
    "month", "lot",    "right",  "study",   "book",    "eye",     "job",      "word",    "business",   "issue",
    "side",  "kind",   "head",   "house",   "service", "friend",  "father",   "power",   "hour",       "game",
    "line",  "end",    "member", "law"};

std::uint64_t below(std::uint64_t limit, double share) {
  return std::min(static_cast<std::uint64_t>(share * static_cast<double>(limit)), limit - 1);
}

}  // namespace

void PromptSource::append(Turn& turn, std::int64_t tokens, std::uint64_t stream) const {
  for (std::int64_t i = 0; i < tokens; ++i) {
    const double share = rng::uniform(seed_, stream, static_cast<std::uint64_t>(i));
    if (vocabulary_ > 0) {
      turn.ids.push_back(static_cast<std::int32_t>(below(static_cast<std::uint64_t>(vocabulary_), share)));
    } else {
      if (!turn.text.empty()) turn.text += ' ';
      turn.text += kWords[below(kWords.size(), share)];
    }
  }
}

}  // namespace millrace::loadtest
