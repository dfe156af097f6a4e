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
  Request request;                                       // as submitted, without `tokens`: the sequences have them
  std::vector<std::unique_ptr<ActiveSequence>> answers;  // [n]; null once ended, or before the prompt is computed
  int live = 0;                                          // entries of `answers` that are not null
  bool cancelled = false;
  std::optional<TimePoint> deadline;
  std::unique_ptr<BeamRun> beams;  // null without beam search; with it, `answers` are the live beams
};

// The requests in flight by id, with their cancellations and deadlines. Owns their sequences. Engine thread only.
class RequestTable {
 public:
  bool empty() const noexcept { return requests_.empty(); }
  RequestState& add(RequestId id, RequestState state);
  RequestState* find(RequestId id) noexcept;  // null if it has ended or never existed
  RequestState& at(RequestId id) { return requests_.at(id); }
  void erase(RequestId id);  // destroys its sequences

  void cancel(RequestId id);  // does nothing for a request that has ended
  // The requests cancelled since the last call.
  std::vector<RequestId> take_cancelled() { return std::exchange(cancelled_, {}); }
  // A request whose deadline is `now` or earlier; returns each request once.
  std::optional<RequestId> take_overdue(TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  // The requests with beam search, ascending by id.
  const std::set<RequestId>& searches() const noexcept { return searches_; }

  // Calls visit(ActiveSequence&) for every answer in flight, in no particular order.
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
