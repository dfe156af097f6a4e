#include "decode/sequence_breakers.h"

#include <algorithm>
#include <string_view>

namespace millrace::decode {

SequenceBreakers::SequenceBreakers(std::span<const std::string> strings, const Vocabulary& vocabulary)
    : strings_(strings.begin(), strings.end()), alone_(static_cast<std::size_t>(vocabulary.size), false) {
  for (std::int32_t token = 0; token < vocabulary.size; ++token) {
    const std::string bytes = vocabulary.bytes(token);
    const auto has = [&](const std::string& text) { return bytes.find(text) != std::string::npos; };
    alone_[static_cast<std::size_t>(token)] = std::ranges::any_of(strings, has);
  }
  for (const std::string& text : strings) {
    if (text.size() > 1) add_overlaps(text, vocabulary);
  }
  std::ranges::stable_sort(sequences_, {}, &Sequence::head);
}

void SequenceBreakers::add_overlaps(const std::string& text, const Vocabulary& vocabulary) {
  std::vector<std::vector<std::int32_t>> rests(text.size());  // the tokens of what follows so many bytes
  for (std::size_t n = 1; n < text.size(); ++n) rests[n] = vocabulary.encode(text.substr(n));
  for (std::int32_t token = 0; token < vocabulary.size; ++token) {
    if (breaks_alone(token)) continue;
    const std::string bytes = vocabulary.bytes(token);
    for (std::size_t n = 1; n < text.size(); ++n) {
      if (!rests[n].empty() && bytes.ends_with(std::string_view(text).substr(0, n))) {
        sequences_.push_back({token, rests[n]});
      }
    }
  }
}

std::int64_t SequenceBreakers::since_last(std::span<const std::int32_t> backwards) const noexcept {
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    std::int64_t longest = breaks_alone(backwards[i]) ? 0 : -1;  // tokens of it behind its first one
    const auto same_head = std::ranges::equal_range(sequences_, backwards[i], {}, &Sequence::head);
    for (const Sequence& s : same_head) {
      const auto tail = std::span(backwards).first(i).last(std::min(i, s.tail.size()));
      if (std::equal(s.tail.begin(), s.tail.end(), tail.rbegin(), tail.rend())) {
        longest = std::max(longest, std::ssize(s.tail));
      }
    }
    if (longest >= 0) return static_cast<std::int64_t>(i) - longest;
  }
  return std::ssize(backwards);
}

std::size_t SequenceBreakers::memory() const noexcept {
  std::size_t bytes = sizeof(*this) + alone_.capacity() / 8 + sequences_.capacity() * sizeof(Sequence);
  for (const Sequence& sequence : sequences_) bytes += sequence.tail.capacity() * sizeof(std::int32_t);
  return bytes;
}

std::shared_ptr<const SequenceBreakers> find_sequence_breakers(std::span<const std::string> strings,
                                                               const text::Tokenizer& tokenizer) {
  return std::make_shared<const SequenceBreakers>(
      strings, SequenceBreakers::Vocabulary{
                   .size = tokenizer.vocab_size(),
                   .bytes = [&](std::int32_t token) { return tokenizer.token_bytes(token); },
                   .encode = [&](const std::string& text) { return tokenizer.encode(text, false, false); }});
}

}  // namespace millrace::decode
