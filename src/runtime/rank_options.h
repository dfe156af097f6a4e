#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::runtime {

// What a rank of a job of MPI was started with. Its command line should be rank 0's; only what its host decides may
// differ.
struct RankOptions {
  int threads = 0;      // as ModelConfig has them, of this rank
  std::string cpu_isa;  // "
  struct Given {
    std::string name;         // "--kv-cache-dtype", or of an argument "MODEL"
    std::uint64_t value = 0;  // a hash of it: values may be secrets
  };
  std::vector<Given> given;  // that must be the same everywhere, by name
};

// For rank 0, as bytes: these options and the build.
std::vector<std::byte> told_options(const RankOptions& own);
// What of `told` by another rank is not this one's: "another build", or "another --kv-cache-dtype". Nothing: all is.
std::optional<std::string> other_options(const RankOptions& own, std::span<const std::byte> told);

}  // namespace millrace::runtime
