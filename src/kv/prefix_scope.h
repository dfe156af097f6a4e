#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
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
  // SHA-256 of what adapters add besides from a later token on, and of which token each begins with (activated LoRA,
  // arXiv:2504.12397); empty: nothing. Pages that end before the first of these tokens, activated_from, are those of
  // the scope without it.
  std::string activated = {};
  std::int64_t activated_from = 0;
  auto operator<=>(const PrefixScope&) const = default;

  // The first position whose page is no longer that of the scope without `activated`.
  std::int64_t activated_page(std::int64_t block_tokens) const noexcept {
    return activated.empty() ? std::numeric_limits<std::int64_t>::max()
                             : activated_from - activated_from % block_tokens;
  }
  PrefixScope without_activated() const { return {.adapter = adapter, .salt = salt, .rope_length = rope_length}; }
};

// How many first tokens are in pages that both scopes have in common, if they are the same tokens.
inline std::int64_t common_tokens(const PrefixScope& a, const PrefixScope& b, std::int64_t block_tokens) {
  if (a == b) return std::numeric_limits<std::int64_t>::max();
  if (a.without_activated() != b.without_activated()) return 0;
  return std::min(a.activated_page(block_tokens), b.activated_page(block_tokens));
}

// How long published pages are kept while no table holds them.
struct Retention {
  int priority = 35;  // in [0, 100]; lower ones are evicted first, equal ones least recently used first
  std::optional<std::chrono::milliseconds>
      time_to_live;  // counted from the last use; expired ones go before all others
  bool operator==(const Retention&) const = default;
};

}  // namespace millrace::kv
