#pragma once

// For tests: random adapters, and models that they are merged into.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/memory_env.h"
#include "model/adapters/linear_modules.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/adapters/peft_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {

inline std::vector<float> random_values(std::int64_t n, std::uint32_t& state) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& value : all) {
    state = state * 1664525u + 1013904223u;
    value = (static_cast<float>(state >> 8) / 8388608.0f - 1.0f) * 0.1f;
  }
  return all;
}

// The folder "a" with a random adapter of every linear layer.
inline MemoryEnv random_adapter_files(const std::vector<LinearModule>& linears, std::vector<PeftModule> modules) {
  std::uint32_t state = 1;
  for (const LinearModule& one : linears) {
    modules.push_back({.name = one.name, .rows = one.rows, .cols = one.cols});
  }
  for (PeftModule& module : modules) {
    module.rank = 2;
    module.a = random_values(2 * module.cols, state);
    module.b = random_values(2 * module.rows, state);
  }
  const PeftFiles files = peft_files({.rank = 2}, modules);
  MemoryEnv env;
  env.files = {{"a/adapter_config.json", files.config}, {"a/adapter_model.safetensors", files.weights}};
  return env;
}

// The folder "a", merged into matrices of at most that many dimensions, in f32, gives the logits that it gives beside
// the model, and others than those of `plain`.
inline void expect_merged_as_beside(MemoryEnv& env, std::unique_ptr<checkpoint::Checkpoint> base, int dimensions,
                                    TestRunner& beside, TestRunner& plain) {
  const auto loaded = AdapterLoader(beside.checkpoint(), beside.transformer(), beside.backend())
                          .load(env, "a", {.type = AdapterType::kF32});
  beside.set_adapter(loaded.get());
  const ScaledAdapter adapter{"a"};
  const TensorFormats f32 = [dimensions](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() <= dimensions ? quant::find_format("f32") : nullptr;
  };
  static_cast<void>(merge_adapters(env, *base, backend::cpu::make_cpu_backend({.threads = 1}).or_throw(), {&adapter, 1},
                                   {.formats = f32}));
  TestRunner merged(std::move(base), {.precision = backend::MatmulPrecision::kF32});
  const std::vector<std::int32_t> tokens = {3, 9, 27, 30, 5, 11};
  const std::vector<float> expected = beside.run_whole(tokens);
  EXPECT_LE(largest_error(merged.run_whole(tokens), expected), 1e-4);
  EXPECT_GE(largest_error(plain.run_whole(tokens), expected), 1e-3) << "the adapter changes something";
  beside.set_adapter(nullptr);
}

}  // namespace millrace::model
