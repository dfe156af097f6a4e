#pragma once

#include <cstdint>
#include <vector>

namespace millrace::engine::load {

// `tokens` token ids, uniformly distributed in [0, vocabulary), a function of `seed` and the request's number `index`.
// Prompts of different requests share no long prefix, so the prefix cache finds nothing.
std::vector<std::int32_t> random_prompt(std::int64_t tokens, std::int64_t vocabulary, std::uint64_t seed,
                                        std::uint64_t index);

}  // namespace millrace::engine::load
