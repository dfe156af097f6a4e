#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/active_sequence.h"
#include "engine/beam_run.h"
#include "model/adapters/adapter_claim.h"

namespace millrace::engine {

// A request in flight and its answers.
struct RequestState {
  Request request;                                       // without `tokens`, which its sequences have
  std::vector<std::unique_ptr<ActiveSequence>> answers;  // [n]; null if ended, or before the prompt is computed
  std::unique_ptr<model::AdapterClaim> adapter_claim;    // set until its adapters are in memory, see AdapterSeats
  int live = 0;                                          // answers that have not ended
  bool cancelled = false;
  std::optional<TimePoint> deadline;
  std::unique_ptr<BeamRun> beams;  // null: answers are sampled; else `answers` are the live beams
};

// The requests in flight by id, with their cancellations and deadlines. Owns their sequences. Engine thread only.
class RequestTable {
 public:
  bool empty() const noexcept { return requests_.empty(); }
  RequestState& add(RequestId id, RequestState state);
  RequestState* find(RequestId id) noexcept;  // null if it has ended or never existed
  RequestState& at(RequestId id) { return requests_.at(id); }
  void erase(RequestId id);  // and its sequences

  // Marks a request to be ended in the next step; no effect if it has ended.
  void cancel(RequestId id);
  std::vector<RequestId> take_cancelled() { return std::exchange(cancelled_, {}); }
  // Returns a request whose deadline is not after `now`, and drops that deadline; nothing if there is none.
  std::optional<RequestId> take_overdue(TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  // Ids of the requests with beam search, ascending.
  const std::set<RequestId>& searches() const noexcept { return searches_; }

  // Calls visit(sequence) for every answer in flight.
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
