#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::server {

// What a route needs and a key opens; bits of Caller::scopes. kNone: open to every caller.
enum class Scope : unsigned { kNone = 0, kInfer = 1, kAdmin = 2, kMetrics = 4 };

// Names of adapters; null: all of them.
using AdapterNames = std::shared_ptr<const std::vector<std::string>>;

// The sender of a request, as its API keys tell.
struct Caller {
  std::string tenant = "default";
  std::uint32_t tenant_number = 0;  // of Access; the tenant's id in the engine, for fair shares
  std::string salt;                 // the tenant's secret; requests share cached prefixes only under the same salt
  unsigned scopes = 0;              // bits of Scope
  AdapterNames adapters = {};       // that it may use
  bool may_use(std::string_view adapter) const noexcept {
    return adapters == nullptr || std::ranges::find(*adapters, adapter) != adapters->end();
  }
  bool may(Scope scope) const noexcept { return scope == Scope::kNone || (scopes & static_cast<unsigned>(scope)) != 0; }
};

}  // namespace millrace::server
