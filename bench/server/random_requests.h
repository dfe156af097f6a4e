#pragma once

#include <cstdint>

#include "engine/load/random_prompt.h"
#include "loadtest/workload.h"
#include "metrics/token_range.h"

namespace millrace::bench {

// Single requests of random token ids. Request i is the same as request i of `millrace bench throughput` with these
// lengths and this seed.
class RandomRequests final : public loadtest::Workload {
 public:
  struct Shape {
    std::int64_t vocabulary = 0;  // ids are below
    metrics::TokenRange input{128, 128}, output{64, 64};
    std::uint64_t seed = 0;
  };
  explicit RandomRequests(const Shape& shape) : shape_(shape) {}
  loadtest::Session session(std::uint64_t index) const override {
    constexpr std::uint64_t kInput = 0, kOutput = 1;  // streams of numbers
    const std::int64_t input = metrics::sample(shape_.input, shape_.seed, index, kInput);
    return {.turns = {{.ids = engine::load::random_prompt(input, shape_.vocabulary, shape_.seed, index),
                       .output_tokens = metrics::sample(shape_.output, shape_.seed, index, kOutput)}}};
  }

 private:
  const Shape shape_;
};

}  // namespace millrace::bench
