#include "model/synth/synth_data.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "model/synth/normal_noise.h"
#include "quant/random_blocks.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kChunkValues = std::int64_t{1} << 22;  // values made between two writes

// The row of the model that lies at `row` of a file keeping rotary pairs; the inverse of tensor_row (block.h).
constexpr std::int64_t half_row(std::int64_t row, std::int64_t head_dim) noexcept {
  const std::int64_t in_head = row % head_dim;
  return row - in_head + in_head % 2 * (head_dim / 2) + in_head / 2;
}

class Source {
 public:
  Source(const SynthModel& model, WorkerTeam& team, std::function<void(std::uint64_t)> progress)
      : model_(model), team_(team), progress_(std::move(progress)) {
    if (model.options.format->pack == nullptr) codes_.emplace(*model.options.format);
  }

  Result<void> deliver(const SynthTensor& tensor, const checkpoint::DataSink& sink) {
    const std::int64_t cols = tensor.spec.shape.back(), rows = tensor.spec.shape.rows();
    const std::int64_t chunk_rows = std::max<std::int64_t>(1, kChunkValues / cols);
    const quant::QuantFormat& format = *tensor.spec.format;
    const std::size_t row_bytes = format.row_bytes(cols);
    rows_.resize(static_cast<std::size_t>(team_.size()) * static_cast<std::size_t>(cols));
    const NormalStream stream(model_.options.seed, tensor.stream);
    for (std::int64_t first = 0; first < rows; first += chunk_rows) {
      const std::int64_t count = std::min(chunk_rows, rows - first);
      bytes_.resize(static_cast<std::size_t>(count) * row_bytes);
      team_.run([&](int worker) {
        const std::span<float> values(rows_.data() + static_cast<std::int64_t>(worker) * cols,
                                      static_cast<std::size_t>(cols));
        const std::int64_t begin = count * worker / team_.size(), end = count * (worker + 1) / team_.size();
        for (std::int64_t r = begin; r < end; ++r) {
          const std::span<std::byte> row(bytes_.data() + static_cast<std::size_t>(r) * row_bytes, row_bytes);
          if (format.pack == nullptr) {
            fill_codes(tensor, stream, first + r, row);
          } else {
            fill_row(tensor, stream, first + r, values);
            format.pack(values, row.data());
          }
        }
      });
      if (auto written = sink(bytes_); !written) return written;
      done_ += bytes_.size();
      if (progress_) progress_(done_);
    }
    return {};
  }

 private:
  static void fill_row(const SynthTensor& tensor, const NormalStream& stream, std::int64_t row, std::span<float> out) {
    if (tensor.stream.empty()) {
      std::ranges::fill(out, tensor.constant);
      return;
    }
    const std::int64_t at = tensor.pair_rows > 0 ? half_row(row, tensor.pair_rows) : row;
    if (tensor.spec.shape.rank() > 1 || tensor.pair_rows == 0) {
      stream.fill(static_cast<std::uint64_t>(tensor.first_row + at) * out.size(), tensor.deviation, out);
      return;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {  // a bias of rows that lie as pairs
      const auto from = static_cast<std::uint64_t>(half_row(static_cast<std::int64_t>(i), tensor.pair_rows));
      stream.fill(from, tensor.deviation, out.subspan(i, 1));
    }
  }

  void fill_codes(const SynthTensor& tensor, const NormalStream& stream, std::int64_t row,
                  std::span<std::byte> out) const {
    const std::uint64_t words = (out.size() + 7) / 8;
    stream.fill_bytes(static_cast<std::uint64_t>(tensor.first_row + row) * words, out);
    codes_->set_deviation(tensor.deviation, out);
  }

  const SynthModel& model_;
  WorkerTeam& team_;
  std::optional<quant::RandomBlocks> codes_;  // where the format of the matrices is only read
  std::function<void(std::uint64_t)> progress_;
  std::vector<float> rows_;  // one row a worker
  std::vector<std::byte> bytes_;
  std::uint64_t done_ = 0;
};

}  // namespace

checkpoint::DataSource synth_data(const SynthModel& model, WorkerTeam& team,
                                  const std::function<void(std::uint64_t bytes)>& progress) {
  auto source = std::make_shared<Source>(model, team, progress);
  return [source, &model](std::size_t tensor, const checkpoint::DataSink& sink) {
    return source->deliver(model.tensors[tensor], sink);
  };
}

}  // namespace millrace::model
