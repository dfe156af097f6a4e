#pragma once

#include <span>
#include <string_view>

namespace millrace::bench {

// A prompt for benchmarks of speculation.
struct SpeculationPrompt {
  std::string_view name;
  bool copies = false;  // much of the answer repeats the prompt
  std::string_view text;
};
std::span<const SpeculationPrompt> speculation_prompts();

}  // namespace millrace::bench
