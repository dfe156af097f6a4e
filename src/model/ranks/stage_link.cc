#include "model/ranks/stage_link.h"

#include <chrono>
#include <span>
#include <vector>

#include "comm/step_timeout.h"
#include "model/ranks/rank_leader.h"
#include "model/shard.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

constexpr std::chrono::hours kAnyStepTime{24 * 365 * 10};  // rank 0 knows how long a step may take

// What sends `rows` gets their bytes.
template <typename Send>
void send_bytes(backend::Backend& backend, const backend::DeviceView& rows, const Send& send) {
  const backend::HostView values = backend.host_view(rows);
  const auto n = static_cast<std::size_t>(rows.rows() * rows.cols());
  send(std::as_bytes(std::span(values.view().row(0), n))).or_throw();
}

}  // namespace

void StageLink::take(const backend::DeviceView& rows) const {
  const std::vector<std::byte> bytes = group_->take(kAnyStepTime).or_throw();
  const auto expected = static_cast<std::size_t>(rows.rows() * rows.cols()) * sizeof(float);
  if (bytes.size() != expected) {
    throw_load_error(ErrorCode::kUnavailable, "rank", "the stage before this one passes on {} bytes instead of {}",
                     bytes.size(), expected);
  }
  backend_.upload(bytes, rows.data);
}

void StageLink::pass(const backend::DeviceView& rows) const {
  const auto timeout = group_->stages() * comm::step_timeout(rows.rows());
  send_bytes(backend_, rows, [&](std::span<const std::byte> bytes) { return group_->pass(bytes, timeout); });
}

void StageLink::answer(const backend::DeviceView& rows) const {
  if (rows.rows() == 0 || group_->place() != 0) return;
  send_bytes(backend_, rows, [&](std::span<const std::byte> bytes) { return group_->answer(bytes, kAnyStepTime); });
}

void take_result(RankLeader& leader, std::size_t step, backend::Backend& backend, const backend::DeviceView& rows) {
  const std::vector<std::byte> bytes = leader.next_result(step);
  const auto expected = static_cast<std::size_t>(rows.rows() * rows.cols()) * sizeof(float);
  if (bytes.size() != expected) {
    throw_load_error(ErrorCode::kUnavailable, "rank", "the last stage answers {} bytes instead of {}", bytes.size(),
                     expected);
  }
  backend.upload(bytes, rows.data);
}

void mark_used_elsewhere(WeightLoader& loader, const RankShards& shards) {
  if (shards.shards == nullptr || shards.shards->stages() == 1) return;
  const RowRange own = shards.layers(0);
  for (std::int64_t layer = 0; layer < std::ssize(loader.spec().layers); ++layer) {
    if (layer < own.first || layer >= own.last) loader.mark_layer_used(layer);
  }
  loader.mark_outer_used();
  loader.mark_used(loader.spec().names.head + ".weight");  // some files repeat the embedding as the head
  loader.mark_used(loader.spec().names.head + ".bias");
}

}  // namespace millrace::model
