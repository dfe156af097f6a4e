#pragma once

#include <barrier>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend/forwarding_backend.h"

namespace millrace::backend {

// For tests: exchanges columns between ranks that are threads of one process.
class RankExchange {
 public:
  explicit RankExchange(int ranks) : columns_(static_cast<std::size_t>(ranks)), everybody_(ranks) {}

  int ranks() const noexcept { return static_cast<int>(columns_.size()); }
  // Waits until all ranks have called it, and returns the data of each. Valid until taken().
  const std::vector<std::vector<std::byte>>& gather(int rank, std::vector<std::byte> own) {
    columns_[static_cast<std::size_t>(rank)] = std::move(own);
    everybody_.arrive_and_wait();
    return columns_;
  }
  // Waits until all ranks have called it: the data may then be replaced.
  void taken() { everybody_.arrive_and_wait(); }

 private:
  std::vector<std::vector<std::byte>> columns_;
  std::barrier<> everybody_;
};

// For tests: a backend that is one of several ranks, each used by a thread of its own.
class RankBackend final : public ForwardingBackend {
 public:
  RankBackend(std::unique_ptr<Backend> inner, int rank, std::shared_ptr<RankExchange> exchange)
      : ForwardingBackend(std::move(inner)), rank_(rank), exchange_(std::move(exchange)) {}

  int ranks() const noexcept override { return exchange_->ranks(); }
  int rank() const noexcept override { return rank_; }
  void all_gather(DeviceView own, DeviceView all) override {
    synchronize();
    const auto rows = static_cast<std::size_t>(own.rows());
    const std::size_t width = static_cast<std::size_t>(own.cols()) * size_of(own.dtype);
    std::vector<std::byte> mine(rows * width);
    for (std::size_t t = 0; t < rows; ++t) download(row_of(own, t), std::span(mine).subspan(t * width, width));
    const auto& columns = exchange_->gather(rank_, std::move(mine));
    for (std::size_t t = 0; t < rows; ++t) {
      for (std::size_t r = 0; r < columns.size(); ++r) {
        upload(std::span(columns[r]).subspan(t * width, width), row_of(all, t) + r * width);
      }
    }
    exchange_->taken();
  }

 private:
  static DeviceAddress row_of(const DeviceView& view, std::size_t row) noexcept {
    return view.data + row * static_cast<std::size_t>(view.row_stride()) * size_of(view.dtype);
  }
  int rank_;
  std::shared_ptr<RankExchange> exchange_;
};

}  // namespace millrace::backend
