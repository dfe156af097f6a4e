#include "engine/adapter_seats.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/used_adapters.h"
#include "model/adapters/adapter_claim.h"

namespace millrace::engine {
namespace {

constexpr std::size_t kNearFront = 16;  // places of the line whose adapters are in memory, or asked for
constexpr int kAsks = 4;                // of those that wait, so many of the first ones ask

}  // namespace

void AdapterSeats::take(const sched::PolicyView& view, std::vector<Output>& outputs) {
  const std::vector<sched::Sequence*> line = state_.scheduler.first_in_line(view, kNearFront);
  for (sched::Sequence* sequence : state_.scheduler.waiting()) {
    if (!sequence->adapters_missing || std::ranges::find(line, sequence) != line.end()) continue;
    const auto& active = static_cast<const ActiveSequence&>(*sequence);
    state_.requests.at(active.request).adapter_claim->withdraw();  // others have come before it
  }
  int asks = 0;
  for (sched::Sequence* sequence : line) {
    if (!sequence->adapters_missing) continue;
    const bool seated = seat(static_cast<ActiveSequence&>(*sequence), asks < kAsks, outputs);
    if (!seated) ++asks;
  }
  state_.adapters_missing = std::ranges::any_of(state_.scheduler.waiting(), &sched::Sequence::adapters_missing);
}

// False: it goes on waiting.
bool AdapterSeats::seat(ActiveSequence& sequence, bool ask, std::vector<Output>& outputs) {
  RequestState& flight = state_.requests.at(sequence.request);
  const auto taken = flight.adapter_claim->take(ask);
  if (!taken) return false;
  const auto fail = [&](const Error& error) {
    Output output;
    output.error = error;
    endings_.end(sequence, FinishReason::kError, std::move(output), outputs);
    return true;
  };
  if (!*taken) return fail(taken->error());
  std::vector<AdapterUse>& adapters = flight.request.adapters;
  for (std::size_t i = 0; i < adapters.size(); ++i) adapters[i].adapter = (**taken)[i].adapter;
  flight.adapter_claim = nullptr;
  if (auto found = find_adapters(adapters, *state_.executor); !found) return fail(found.error());
  accounting_.settle(sequence, state_.env.now());
  sequence.adapters_missing = false;
  state_.set_adapters(sequence, flight.request, nullptr);
  return true;
}

void AdapterSeats::share_again(std::vector<Output>& outputs) {
  std::set<RequestId> requests;
  for (const auto list : {state_.scheduler.running(), state_.scheduler.waiting()}) {
    for (const sched::Sequence* s : list) requests.insert(static_cast<const ActiveSequence*>(s)->request);
  }
  for (const RequestId id : requests) {
    for (const AdapterUse& use : std::vector(state_.requests.at(id).request.adapters)) {
      if (use.adapter == nullptr) continue;
      if (const auto shared = state_.executor->share(*use.adapter); !shared) {
        endings_.end_request(id, FinishReason::kError, outputs, &shared.error());
        break;
      }
    }
  }
}

}  // namespace millrace::engine
