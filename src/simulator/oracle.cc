#include "simulator/oracle.h"

#include <algorithm>

#include "base/counter_rng.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {

using engine::FinishReason;
using engine::Output;

void Oracle::absorb(std::uint64_t value) noexcept { digest_ = rng::mix(digest_ ^ value) + 0x9e3779b97f4a7c15ull; }

Asked* Oracle::find(engine::RequestId id) {
  const auto it = live_.find(id);
  return it == live_.end() ? nullptr : &it->second;
}

void Oracle::forget_all() {
  live_.clear();
  text_of_.clear();
}

void Oracle::open(Asked asked, std::int64_t longest) {
  asked.serial = next_serial_++;
  std::vector<std::unique_ptr<Reference>> searched;
  const std::uint64_t adapters = adapter_stamp(asked.request.adapters);
  if (asked.request.beams) searched_.insert(sharing_of(asked.request));
  if (asked.request.beams) searched = Reference::searched(asked.prompt, asked.request, longest);
  for (int choice = 0; choice < asked.request.n; ++choice) {
    decode::SamplingParams sampling = asked.request.sampling;
    sampling.seed += static_cast<std::uint64_t>(choice);
    auto reference = asked.request.beams ? std::move(searched.at(static_cast<std::size_t>(choice)))
                                         : std::make_unique<Reference>(asked.prompt, sampling, longest, adapters);
    asked.choices.push_back({std::move(reference), "", 0, false});
    text_of_[{asked.id, choice}] = texts_.size();
    texts_.push_back({sharing_of(asked.request), asked.serial, asked.prompt});
  }
  const engine::RequestId id = asked.id;
  if (!live_.emplace(id, std::move(asked)).second) verdict_.fail("Q1", id, "the id was given twice");
}

bool Oracle::any_live(std::size_t engine) const {
  return std::ranges::any_of(live_, [&](const auto& entry) { return entry.second.engine == engine; });
}

void Oracle::rename(engine::RequestId from, engine::RequestId to) {
  auto node = live_.extract(from);
  node.key() = node.mapped().id = to;
  for (int choice = 0; choice < node.mapped().request.n; ++choice) {
    text_of_[{to, choice}] = text_of_.at({from, choice});
    text_of_.erase({from, choice});
  }
  if (!live_.insert(std::move(node)).inserted) verdict_.fail("Q1", to, "the id was given twice");
}

std::size_t Oracle::answers_in_flight(std::size_t engine) const {
  std::size_t n = 0;
  for (const auto& [id, asked] : live_) {
    if (asked.request.beams || asked.engine != engine) continue;
    n += static_cast<std::size_t>((asked.forked ? asked.request.n : 1) - asked.ended);
  }
  return n;
}

std::optional<Asked> Oracle::take(const Output& output, const Circumstances& terms) {
  absorb(output.request * 64 + static_cast<std::uint64_t>(output.choice));
  absorb(static_cast<std::uint64_t>(output.token.value_or(-1)) * 8 + static_cast<std::uint64_t>(output.finish));
  Asked* asked = find(output.request);
  if (asked == nullptr) {
    verdict_.fail("S1", output.request, "an output after the last one, or of no known request");
    return std::nullopt;
  }
  if (output.choice < 0 || output.choice >= asked->request.n ||
      asked->choices[static_cast<std::size_t>(output.choice)].ended) {
    verdict_.fail("S1", output.request, "an output of choice {}, which has ended or never was", output.choice);
    return std::nullopt;
  }
  if (output.token || output.choice > 0) asked->forked = true;
  check_token(*asked, output);
  asked->choices[static_cast<std::size_t>(output.choice)].text += output.text;
  ++asked->unread;
  if (output.finish != FinishReason::kNone) check_end(*asked, output, terms);
  const int expected = asked->forked ? asked->request.n : 1;
  if (output.last != (asked->ended == expected)) {
    verdict_.fail("S1", output.request, "last is {} with {} of {} answers ended", output.last, asked->ended, expected);
  }
  if (!output.last) return std::nullopt;
  Asked done = std::move(*asked);
  live_.erase(output.request);
  return done;
}

void Oracle::check_token(Asked& asked, const Output& output) {
  if (!output.token) return;
  ++output_tokens_;
  Asked::Choice& choice = asked.choices[static_cast<std::size_t>(output.choice)];
  const auto expected = choice.reference->next();
  if (!expected) {
    verdict_.fail("S1", asked.id, "token {} of choice {} comes after the answer's end", choice.tokens, output.choice);
  } else if (*expected != *output.token) {
    verdict_.fail("D1", asked.id, "token {} of choice {} is {}, alone it is {} (prompt of {} tokens)", choice.tokens,
                  output.choice, *output.token, *expected, asked.prompt.size());
  }
  ++choice.tokens;
  if (*output.token != kEndOfAnswer || asked.request.sampling.ignore_eos) {
    texts_[text_of_.at({asked.id, output.choice})].tokens.push_back(*output.token);
  }
}

// What may at most have been found cached: the longest beginning that a request with the same salt has said before, or
// the session itself.
std::int64_t Oracle::max_cached(const Asked& asked, bool caching) const {
  std::int64_t most = asked.from_session;
  // Without prefix caching a session, and those forked from it, find what they themselves have said.
  if (!caching) return asked.request.session ? static_cast<std::int64_t>(asked.prompt.size()) - 1 : most;
  const Sharing sharing = sharing_of(asked.request);
  if (searched_.contains(sharing)) return static_cast<std::int64_t>(asked.prompt.size()) - 1;
  for (const Text& text : texts_) {
    if (text.serial == asked.serial || text.sharing != sharing) continue;
    const auto end = std::ranges::mismatch(text.tokens, asked.prompt).in2;
    most = std::max<std::int64_t>(most, end - asked.prompt.begin());
  }
  return most;
}

void Oracle::check_error(const Asked& asked, const Output& output, const Circumstances& terms) {
  if (!output.error) {
    verdict_.fail("S1", asked.id, "an error that does not say which");
    return;
  }
  const std::string& param = output.error->param;
  if (terms.adapters != nullptr && !asked.forked && terms.adapters->may_refuse(asked.request, *output.error)) {
    return coverage_.count(Event::kAdapterRefused);
  }
  if (terms.rejects_late && output.error->code == ErrorCode::kResourceExhausted) {
    const bool has_one = param == "ttft_target_ms" ? asked.request.ttft_target_ms > 0.0 : asked.deadline.has_value();
    if (asked.forked || !has_one) {
      verdict_.fail("S1", asked.id, "refused as late for its {}: {}", param,
                    has_one ? "it had begun to answer" : "it has none");
    }
    coverage_.count(Event::kRejectedLate);
  } else if (!terms.faulty && !(terms.ranks_lost && !asked.request.adapters.empty())) {
    verdict_.fail("S1", asked.id, "failed without a fault: {}", output.error->message);
  }
}

void Oracle::check_end(Asked& asked, const Output& output, const Circumstances& terms) {
  Asked::Choice& choice = asked.choices[static_cast<std::size_t>(output.choice)];
  choice.ended = true;
  ++asked.ended;
  const FinishReason expected = choice.reference->finish();
  switch (output.finish) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      if (output.finish != expected) {
        verdict_.fail("D1", asked.id, "choice {} ends with '{}' after {} tokens, alone with '{}'", output.choice,
                      to_string(output.finish), choice.tokens, to_string(expected));
      }
      coverage_.count(Event::kAnswered);
      if (!asked.request.adapters.empty()) coverage_.count(Event::kAdapterAnswered);
      if (asked.request.beams) coverage_.count(Event::kBeamsFound);
      if (output.finish == FinishReason::kStop) {
        coverage_.count(output.token == kEndOfAnswer ? Event::kEndToken : Event::kStopString);
      }
      break;
    case FinishReason::kCancelled:
      if (asked.must_end_by < 0) verdict_.fail("Q1", asked.id, "cancelled, and no client asked for it");
      break;
    case FinishReason::kTimeout:
      if (!asked.deadline) verdict_.fail("P3", asked.id, "timed out without a deadline");
      coverage_.count(Event::kTimedOut);
      break;
    case FinishReason::kError: check_error(asked, output, terms); break;
    case FinishReason::kNone: break;
  }
  if (expected != FinishReason::kNone && output.finish != expected) {
    verdict_.fail("S1", asked.id, "the answer was complete, and ends with '{}'", to_string(output.finish));
  }
  if (choice.text != choice.reference->text()) {
    verdict_.fail("S1", asked.id, "the text of choice {} is '{}', expected '{}'", output.choice, choice.text,
                  choice.reference->text());
  }
  const engine::RequestStats& stats = output.stats;
  if (stats.output_tokens != choice.tokens || stats.prompt_tokens != static_cast<std::int64_t>(asked.prompt.size())) {
    verdict_.fail("S2", asked.id, "usage says {} + {} tokens, it was {} + {}", stats.prompt_tokens, stats.output_tokens,
                  asked.prompt.size(), choice.tokens);
  }
  const std::int64_t most = max_cached(asked, terms.caching);
  if (stats.cached_tokens < 0 || stats.cached_tokens > most ||
      stats.cached_tokens >= static_cast<std::int64_t>(asked.prompt.size())) {
    verdict_.fail("C1", asked.id,
                  "{} tokens of {} were found cached; no request it may share with has said more than {}",
                  stats.cached_tokens, asked.prompt.size(), most);
  }
  if (stats.cached_tokens > asked.from_session) coverage_.count(Event::kPrefixHit);
  if (output.spent && output.spent->adapters_ms > 0.0) coverage_.count(Event::kAdapterAwaited);
  if (stats.preemptions > 1) coverage_.count(Event::kPreemptedTwice);
}

void Oracle::check_overdue(std::int64_t step) {
  for (const auto& [id, asked] : live_) {
    if (asked.engine != kInTransit && asked.must_end_by >= 0 && step > asked.must_end_by) {
      verdict_.fail("P3", id, "cancelled or out of time, and still there {} steps later", step - asked.must_end_by);
    }
  }
}

}  // namespace millrace::simulator
