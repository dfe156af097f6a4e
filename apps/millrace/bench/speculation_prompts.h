#pragma once

#include <span>
#include <string_view>

namespace millrace::bench {

// A prompt for speculation benchmarks, and whether it contains much of its answer.
struct SpeculationPrompt {
  std::string_view name;
  bool copies = false;
  std::string_view text;
};
std::span<const SpeculationPrompt> speculation_prompts();

}  // namespace millrace::bench
