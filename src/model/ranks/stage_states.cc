#include "model/ranks/stage_states.h"

#include <algorithm>

#include "model/ranks/rank_leader.h"
#include "model/weight_loader.h"

namespace millrace::model {

std::vector<int> StageStates::ranks(const HiddenStateHook* hook, std::int64_t layers) const {
  std::vector<int> ranks;
  if (shards_.stages() == 1 || hook == nullptr) return ranks;
  for (const std::int64_t layer : hook->layers()) ranks.push_back(shards_.rank_of_state(layer, layers));
  return ranks;
}

void StageStates::pass(const BatchInput& input, std::int64_t layer, const backend::DeviceView& residual, Kept& kept) {
  const auto wanted = input.hook != nullptr ? input.hook->layers() : std::span<const std::int64_t>(input.state_layers);
  if (!std::ranges::binary_search(wanted, layer)) return;
  if (shards_.stages() == 1) return input.hook->pass(layer, residual);
  backend_.synchronize();
  if (input.hook == nullptr) return link_.answer(residual);
  const backend::HostView values = backend_.host_view(residual);
  const auto bytes =
      std::as_bytes(std::span(values.view().row(0), static_cast<std::size_t>(residual.rows() * residual.cols())));
  kept.emplace_back(bytes.begin(), bytes.end());
}

void StageStates::finish(const BatchInput& input, std::int64_t layers, std::int64_t width, const Kept& kept,
                         RankLeader& leader, std::size_t step) {
  const std::vector<int> of = ranks(input.hook, layers);
  const auto rows = std::ssize(input.tokens);
  const std::size_t bytes = static_cast<std::size_t>(rows * width) * sizeof(float);
  if (memory_.size() < of.size() * bytes) memory_ = backend_.allocate(of.size() * bytes).or_throw();
  for (std::size_t i = 0; i < of.size(); ++i) {
    const backend::DeviceView state(memory_.address() + i * bytes, DType::kF32, {rows, width});
    const std::vector<std::byte> come = of[i] == 0 ? kept[i] : leader.next_rows(step, of[i]);
    if (come.size() != bytes) {
      throw_load_error(ErrorCode::kUnavailable, "rank", "rank {} answers {} bytes of states instead of {}", of[i],
                       come.size(), bytes);
    }
    backend_.upload(come, state.data);
    input.hook->pass(input.hook->layers()[i], state);
  }
}

}  // namespace millrace::model
