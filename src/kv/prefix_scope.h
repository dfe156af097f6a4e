#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::kv {

// What besides the tokens must be equal before two sequences may share pages.
struct PrefixScope {
  std::uint64_t adapter = 0;  // generation of the weights added to the model's; 0 = none
  std::string salt;           // of the tenant: timing does not reveal what another tenant's prompts begin with
  auto operator<=>(const PrefixScope&) const = default;
};

// How long published pages are worth keeping once they are not used.
struct Retention {
  int priority = 35;  // [0, 100]; lower ones go first, equal ones least recently used first
  std::optional<std::chrono::milliseconds>
      time_to_live;  // counted from the last use; expired ones go before all others
  bool operator==(const Retention&) const = default;
};

}  // namespace millrace::kv
