#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_flags.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Flags of `eval --needle`.
struct NeedleFlags {
  bool wanted = false;
  std::vector<std::int64_t> lengths;  // tokens; empty: powers of two from 512 on, and the model's context
  std::int64_t trials = 4;
  std::uint64_t seed = 0;

  void declare(CLI::App& app);
};

// Measures which numbers a model finds in long texts, and prints a table or JSON on stdout; where its KV cache is not
// all in bf16, beside what it finds with one that is. `chunk`: tokens computed in a step. Throws LoadError naming
// needle-lengths.
int run_needle_eval(const ModelFlags& model, const NeedleFlags& flags, std::int64_t chunk, bool json);

}  // namespace millrace::app
