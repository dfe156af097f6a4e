#include "engine/request_table.h"

namespace millrace::engine {

RequestState& RequestTable::add(RequestId id, RequestState state) {
  if (state.deadline) deadlines_.emplace(*state.deadline, id);
  if (state.beams) searches_.insert(id);
  return requests_.insert_or_assign(id, std::move(state)).first->second;
}

RequestState* RequestTable::find(RequestId id) noexcept {
  const auto it = requests_.find(id);
  return it == requests_.end() ? nullptr : &it->second;
}

void RequestTable::erase(RequestId id) {
  const auto it = requests_.find(id);
  if (it->second.deadline) deadlines_.erase({*it->second.deadline, id});
  searches_.erase(id);
  requests_.erase(it);
}

void RequestTable::cancel(RequestId id) {
  RequestState* state = find(id);
  if (state == nullptr || std::exchange(state->cancelled, true)) return;
  cancelled_.push_back(id);
}

std::optional<RequestId> RequestTable::take_overdue(TimePoint now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return std::nullopt;
  const RequestId id = deadlines_.begin()->second;
  deadlines_.erase(deadlines_.begin());
  return id;
}

std::optional<TimePoint> RequestTable::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace millrace::engine
