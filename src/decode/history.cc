#include "decode/history.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::decode {

History::History(Keeps keeps, std::int64_t vocab_size)
    : keeps_(keeps), vocab_size_(vocab_size), prompt_(std::make_shared<const std::vector<std::int32_t>>()) {
  if (keeps_.counts && keeps_.window >= 0) keeps_.tokens = true;  // to know which one leaves the window
}

void History::observe(std::span<const std::int32_t> tokens) {
  CHECK_EQ(answer_size_, 0);
  prompt_size_ += std::ssize(tokens);
  if (keeps_.tokens) {
    auto prompt = *prompt_;
    prompt.insert(prompt.end(), tokens.begin(), tokens.end());
    prompt_ = std::make_shared<const std::vector<std::int32_t>>(std::move(prompt));
  }
  if (!keeps_.counts) return;
  std::span<const std::int32_t> counted = tokens;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(vocab_size_), 0);
  if (keeps_.window >= 0) {  // all over again, as some may have left it
    counted = std::span(*prompt_).last(static_cast<std::size_t>(std::min(keeps_.window, prompt_size_)));
  } else {
    for (const Occurrence& o : occurrences_) counts[static_cast<std::size_t>(o.token)] = o.anywhere;
  }
  for (const std::int32_t token : counted) ++counts[static_cast<std::size_t>(token)];
  occurrences_.clear();
  for (std::size_t token = 0; token < counts.size(); ++token) {
    if (counts[token] > 0) occurrences_.push_back({static_cast<std::int32_t>(token), counts[token], 0});
  }
}

void History::accept(std::int32_t token) {
  ++answer_size_;
  if (keeps_.tokens) answer_.push_back(token);
  if (!keeps_.counts || keeps_.window == 0) return;
  count(token);
  if (keeps_.window > 0 && size() > keeps_.window) {
    forget(from_end(keeps_.window), size() - 1 - keeps_.window >= prompt_size_);
  }
}

void History::count(std::int32_t token) {
  auto at = std::ranges::lower_bound(occurrences_, token, {}, &Occurrence::token);
  if (at == occurrences_.end() || at->token != token) at = occurrences_.insert(at, {token, 0, 0});
  ++at->anywhere;
  ++at->in_answer;
}

void History::forget(std::int32_t token, bool of_answer) {
  const auto at = std::ranges::lower_bound(occurrences_, token, {}, &Occurrence::token);
  if (of_answer) --at->in_answer;
  if (--at->anywhere == 0) occurrences_.erase(at);
}

}  // namespace millrace::decode
