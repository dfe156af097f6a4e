// What of a Transformer is for stages, ranks that have some of its layers each: rows that one has computed go to the
// next, and what the last one computes goes to rank 0.

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "comm/step_timeout.h"
#include "model/ranks/rank_leader.h"
#include "model/transformer.h"
#include "model/transformer_workspace.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

constexpr std::chrono::hours kAnyTime{24 * 365 * 10};  // rank 0 knows how long a step may take

std::size_t bytes_of(const backend::DeviceView& rows) {
  return static_cast<std::size_t>(rows.rows() * rows.cols()) * sizeof(float);
}

}  // namespace

void Transformer::mark_others_used(WeightLoader& loader) const {
  if (stages() == 1) return;
  const RowRange own = shards_.shards->layers(shards_.rank);
  for (std::int64_t layer = 0; layer < std::ssize(spec_.layers); ++layer) {
    if (layer < own.first || layer >= own.last) loader.mark_layer_used(layer);
  }
  loader.mark_outer_used();
  loader.mark_used(spec_.names.head + ".weight");  // some files repeat the embedding as the head
  loader.mark_used(spec_.names.head + ".bias");
}

void Transformer::take_residual() {
  const backend::DeviceView& residual = workspace_->layer.residual;
  const std::vector<std::byte> rows = group_->take(kAnyTime).or_throw();
  if (rows.size() != bytes_of(residual)) {
    throw_load_error(ErrorCode::kUnavailable, "rank", "the stage before this one passes on {} bytes instead of {}",
                     rows.size(), bytes_of(residual));
  }
  backend_.upload(rows, residual.data);
}

void Transformer::pass_residual() {
  const backend::DeviceView& residual = workspace_->layer.residual;
  const backend::HostView rows = backend_.host_view(residual);
  const auto bytes = std::as_bytes(std::span(rows.view().row(0), bytes_of(residual) / sizeof(float)));
  group_->pass(bytes, stages() * comm::step_timeout(residual.rows())).or_throw();
}

// Each rank of the stage has computed them, the first one has them all.
void Transformer::answer_logits(backend::DeviceView logits) {
  if (logits.rows() == 0 || shards_.shards->place(shards_.rank) != 0) return;
  const backend::HostView rows = backend_.host_view(logits);
  group_->answer(std::as_bytes(std::span(rows.view().row(0), bytes_of(logits) / sizeof(float))), kAnyTime).or_throw();
}

void Transformer::take_results(const BatchInput& input, std::size_t step, backend::DeviceView logits) {
  const auto take = [&](const backend::DeviceView& rows) {
    const std::vector<std::byte> bytes = leader_->next_result(step);
    if (bytes.size() != bytes_of(rows)) {
      throw_load_error(ErrorCode::kUnavailable, "rank", "the last stage answers {} bytes instead of {}", bytes.size(),
                       bytes_of(rows));
    }
    backend_.upload(bytes, rows.data);
  };
  if (logits.rows() > 0) take(logits);
  reserve_sink();
  const auto in_blocks = [&](const std::vector<std::int64_t>& rows, std::int64_t columns, const auto& consume) {
    for (std::int64_t first = 0; first < std::ssize(rows); first += kSinkRows) {
      const backend::DeviceView block =
          workspace_->sink_memory.view(std::min(kSinkRows, std::ssize(rows) - first), columns);
      take(block);
      consume(first, backend_.host_view(block).view());
    }
  };
  in_blocks(input.scored_rows, spec_.vocab_size,
            [&](std::int64_t first, const TensorView& block) { input.sink->take_logits(first, block); });
  in_blocks(input.hidden_rows, spec_.hidden_size,
            [&](std::int64_t first, const TensorView& block) { input.sink->take_hidden(first, block); });
}

}  // namespace millrace::model
