#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::model {

// Standard normal numbers by index: number i of a stream depends on the stream and i alone, so any thread may produce
// any part. Each is one of 65536 quantiles, which makes it a table look-up (about 2 ns); the largest is 4.3.
class NormalStream {
 public:
  NormalStream(std::uint64_t seed, std::string_view name) noexcept;

  // out[i] = deviation * number (first + i). first and out.size() are multiples of 4.
  void fill(std::uint64_t first, float deviation, std::span<float> out) const noexcept;

 private:
  std::uint64_t key_;
};

}  // namespace millrace::model
