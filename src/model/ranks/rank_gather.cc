#include "model/ranks/rank_gather.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace millrace::model {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 17;  // bytes of a rank at a time

}  // namespace

std::vector<std::byte> gather_of_ranks(backend::Backend& backend, std::span<const std::size_t> sizes,
                                       std::span<const std::byte> own, bool leader_only) {
  const auto rank = static_cast<std::size_t>(backend.rank());
  CHECK(sizes.size() == static_cast<std::size_t>(backend.ranks()) && sizes[rank] == own.size());
  std::vector<std::byte> all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  const std::size_t largest = *std::ranges::max_element(sizes);
  for (std::size_t first = 0; first < largest; first += kPiece) {
    const auto piece = [&](std::size_t size) { return std::min(size - std::min(size, first), kPiece); };
    std::vector<std::int64_t> borders = {0};
    for (const std::size_t size : sizes) {
      CHECK(size % sizeof(float) == 0);
      borders.push_back(borders.back() + static_cast<std::int64_t>(piece(size) / sizeof(float)));
    }
    const auto bytes_before = [&](std::size_t r) { return static_cast<std::size_t>(borders[r]) * sizeof(float); };
    const backend::DeviceBuffer memory = backend.allocate(bytes_before(sizes.size())).or_throw();
    if (const std::size_t n = piece(own.size()); n > 0) {
      backend.upload(own.subspan(first, n), memory.address() + bytes_before(rank));
    }
    backend.exchange({.borders = borders, .leader_only = leader_only}, memory.view(1, borders.back()));
    backend.synchronize();
    for (std::size_t r = 0, at = 0; r < sizes.size(); at += sizes[r], ++r) {
      if (const std::size_t n = piece(sizes[r]); n > 0) {
        backend.download(memory.address() + bytes_before(r), std::span(all).subspan(at + first, n));
      }
    }
  }
  return all;
}

std::vector<std::int64_t> sums_of_ranks(backend::Backend& backend, std::span<const std::int64_t> own) {
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(backend.ranks()), own.size_bytes());
  const std::vector<std::byte> gathered = gather_of_ranks(backend, sizes, std::as_bytes(own));
  std::vector<std::int64_t> all(gathered.size() / sizeof(std::int64_t)), sums(own.size());
  std::memcpy(all.data(), gathered.data(), gathered.size());
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % own.size()] += all[i];
  return sums;
}

}  // namespace millrace::model
