#pragma once

#include <span>
#include <string_view>

namespace millrace::bench {

// What one user asks: whether much of the answer is in the prompt already.
struct SpeculationPrompt {
  std::string_view name;
  bool copies = false;
  std::string_view text;
};
std::span<const SpeculationPrompt> speculation_prompts();

}  // namespace millrace::bench
