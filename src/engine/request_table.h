#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/active_sequence.h"
#include "engine/beam_run.h"

namespace millrace::engine {

// A request in flight and its answers.
struct RequestState {
  Request request;                                       // as it came, but the tokens, which its sequences have
  std::vector<std::unique_ptr<ActiveSequence>> answers;  // [n]; null once ended, or before the prompt is computed
  int live = 0;
  bool cancelled = false;
  std::optional<TimePoint> deadline;
  std::unique_ptr<BeamRun> beams;  // null: sampled; else one of `answers` for each live beam
};

// The requests in flight by id, and what is to end them: cancellations and deadlines. Owns their sequences. The
// engine's thread.
class RequestTable {
 public:
  bool empty() const noexcept { return requests_.empty(); }
  RequestState& add(RequestId id, RequestState state);
  RequestState* find(RequestId id) noexcept;  // null: has ended, or never was
  RequestState& at(RequestId id) { return requests_.at(id); }
  void erase(RequestId id);  // and its sequences

  void cancel(RequestId id);  // does nothing for a request that has ended
  std::vector<RequestId> take_cancelled() { return std::exchange(cancelled_, {}); }
  // A request whose deadline is `now` or earlier; each is given once.
  std::optional<RequestId> take_overdue(TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  // The requests that are answered by beam search, ascending by id.
  const std::set<RequestId>& searches() const noexcept { return searches_; }

  // visit(sequence) for every answer in flight.
  template <typename Visit>
  void for_each_answer(Visit visit) const {
    for (const auto& [id, state] : requests_) {
      for (const auto& answer : state.answers) {
        if (answer != nullptr) visit(*answer);
      }
    }
  }

 private:
  std::unordered_map<RequestId, RequestState> requests_;
  std::vector<RequestId> cancelled_;
  std::set<std::pair<TimePoint, RequestId>> deadlines_;
  std::set<RequestId> searches_;
};

}  // namespace millrace::engine
