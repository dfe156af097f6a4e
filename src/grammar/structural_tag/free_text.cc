#include "grammar/structural_tag/free_text.h"

#include "grammar/char_nfa.h"
#include "grammar/regex/character_classes.h"

namespace millrace::grammar {
namespace {

constexpr std::int64_t kSearchEdgesOfAState = 4;  // a search's edges are looked up while it is made, so they cost more

Result<void> spend_search(const Words& words, WorkMeter& meter) {
  return meter.spend(1 + CharAutomaton::search_cost(words) / kSearchEdgesOfAState);
}

Result<CharAutomaton> ending_with(const std::u32string& word, WorkMeter& meter) {
  return concatenate(CharAutomaton::any(), CharAutomaton::words({word}), meter);
}

}  // namespace

Words words_of(const std::vector<std::string>& texts) {
  Words out;
  for (const std::string& text : texts) {
    if (!text.empty()) out.push_back(characters_of(text));
  }
  return out;
}

Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Result<CharAutomaton> text_without(const Words& words, std::int64_t max_characters, WorkMeter& meter) {
  if (auto fine = spend_search(words, meter); !fine) return fine.error();
  CharAutomaton text = CharAutomaton::without(words);
  if (max_characters < 0) return text;
  if (auto fine = meter.spend(max_characters); !fine) return fine.error();
  return text.intersect(CharAutomaton::length(0, max_characters), meter);
}

Result<CharAutomaton> text_until(const Words& words, WorkMeter& meter) {
  if (auto fine = spend_search(words, meter); !fine) return fine.error();
  return CharAutomaton::until(words);
}

Result<std::vector<CharAutomaton>> texts_up_to(const Words& words, const Words& forbidden, WorkMeter& meter) {
  const auto first = text_until(joined(words, forbidden), meter);
  if (!first) return first.error();
  std::vector<CharAutomaton> out;
  for (const std::u32string& word : words) {
    const auto its_end = ending_with(word, meter);
    if (!its_end) return its_end.error();
    auto text = first->intersect(*its_end, meter);
    for (const std::u32string& other : forbidden) {
      if (!text || (!word.ends_with(other) && !other.ends_with(word))) continue;
      const auto end = ending_with(other, meter);
      if (!end) return end.error();
      text = text->minus(*end, meter);
    }
    if (!text) return text.error();
    out.push_back(*std::move(text));
  }
  return out;
}

}  // namespace millrace::grammar
