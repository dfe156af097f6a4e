#pragma once

// For tests: the adapters in tests/golden/adapters.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/env.h"
#include "model/adapters/adapter.h"
#include "model/testing/golden_logits.h"

namespace millrace::model {

inline const std::filesystem::path kGoldens = std::filesystem::path(MILLRACE_TEST_DATA) / "../golden";

// The checkpoint that the adapter in that folder was made of.
inline std::filesystem::path base_of(const std::filesystem::path& folder) {
  std::string name = read_file(Env::system(), folder / "base", 200).or_throw();
  name.pop_back();
  return kGoldens / name;
}

// The first token of a prompt that goes through the adapter.
inline std::int64_t first_adapted(const Adapter& adapter, const std::vector<std::int32_t>& prompt) {
  if (adapter.invocation_tokens().empty()) return 0;
  return std::ranges::find_end(prompt, adapter.invocation_tokens()).begin() - prompt.begin();
}

// The largest difference, of the largest value.
inline double largest_error(const std::vector<float>& found, const std::vector<float>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double largest = 0.0, error = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    error = std::max(error, std::abs(static_cast<double>(found[i]) - expected[i]));
    largest = std::max(largest, static_cast<double>(std::abs(expected[i])));
  }
  return error / largest;
}

}  // namespace millrace::model
