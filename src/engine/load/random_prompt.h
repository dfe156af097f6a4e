#pragma once

#include <cstdint>
#include <vector>

namespace millrace::engine::load {

// Token ids sampled evenly from [0, vocabulary), by `seed` and the request's number `index` alone: no two prompts share
// a beginning, so the prefix cache finds nothing.
std::vector<std::int32_t> random_prompt(std::int64_t tokens, std::int64_t vocabulary, std::uint64_t seed,
                                        std::uint64_t index);

}  // namespace millrace::engine::load
