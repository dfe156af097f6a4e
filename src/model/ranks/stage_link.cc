#include "model/ranks/stage_link.h"

#include <chrono>
#include <span>
#include <vector>

#include "comm/step_timeout.h"
#include "model/ranks/rank_answers.h"
#include "model/ranks/rank_leader.h"
#include "model/shard.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

constexpr std::chrono::hours kAnyStepTime{24 * 365 * 10};  // rank 0 knows how long a step may take

}  // namespace

void pass_rows(comm::Communicator& group, std::span<const std::byte> rows, std::uint64_t step, std::int64_t n_rows) {
  std::vector<std::byte> message;
  message.reserve(rows.size() + sizeof(step));
  message.assign(rows.begin(), rows.end());
  append_number(message, step);
  group.pass(message, group.stages() * comm::step_timeout(n_rows)).or_throw();
}

std::vector<std::byte> take_rows(comm::Communicator& group, std::size_t bytes, std::uint64_t step) {
  std::vector<std::byte> message = group.take(kAnyStepTime).or_throw();
  const auto number = take_number(message);
  if (!number || message.size() != bytes) {
    throw_load_error(ErrorCode::kUnavailable, "rank", "the stage before this one passes on {} bytes instead of {}",
                     message.size(), bytes);
  }
  if (*number != step) {
    throw_load_error(ErrorCode::kUnavailable, "rank", "the stage before this one passes on rows of step {}, not of {}",
                     *number, step);
  }
  return message;
}

void StageLink::take(const backend::DeviceView& rows, std::uint64_t step) const {
  backend_.upload(take_rows(*group_, static_cast<std::size_t>(rows.rows() * rows.cols()) * sizeof(float), step),
                  rows.data);
}

void StageLink::pass(const backend::DeviceView& rows, std::uint64_t step) const {
  const backend::HostView values = backend_.host_view(rows);
  const auto n = static_cast<std::size_t>(rows.rows() * rows.cols());
  pass_rows(*group_, std::as_bytes(std::span(values.view().row(0), n)), step, rows.rows());
}

void StageLink::answer(const backend::DeviceView& rows) const {
  if (rows.rows() == 0 || group_->place() != 0) return;
  const backend::HostView values = backend_.host_view(rows);
  const auto n = static_cast<std::size_t>(rows.rows() * rows.cols());
  group_->answer(std::as_bytes(std::span(values.view().row(0), n)), kAnyStepTime).or_throw();
}

void take_result(RankLeader& leader, std::size_t step, backend::Backend& backend, const backend::DeviceView& rows) {
  const auto bytes = static_cast<std::size_t>(rows.rows() * rows.cols()) * sizeof(float);
  backend.upload(leader.next_result(step, bytes), rows.data);
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
