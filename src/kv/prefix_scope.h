#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::kv {

// What must be equal, besides the tokens, for two sequences to share pages.
struct PrefixScope {
  // SHA-256, as text, of what adapters add to the model's weights, and by which factors; empty: nothing.
  std::string adapter;
  std::string salt;  // of the tenant, so that timing does not reveal what another tenant's prompts begin with
  // By which positions were rotated, where the model rotates long sequences otherwise than short ones; 0 = as short
  // ones.
  std::int64_t rope_length = 0;
  auto operator<=>(const PrefixScope&) const = default;
};

// How long published pages are kept while no table holds them.
struct Retention {
  int priority = 35;  // in [0, 100]; lower ones are evicted first, equal ones least recently used first
  std::optional<std::chrono::milliseconds>
      time_to_live;  // counted from the last use; expired ones go before all others
  bool operator==(const Retention&) const = default;
};

}  // namespace millrace::kv
