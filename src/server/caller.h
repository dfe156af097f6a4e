#pragma once

#include <cstdint>
#include <string>

namespace millrace::server {

// What a route needs and a key opens; bits of Caller::scopes. kNone: open to every caller.
enum class Scope : unsigned { kNone = 0, kInfer = 1, kAdmin = 2, kMetrics = 4 };

// The sender of a request, as its API keys tell.
struct Caller {
  std::string tenant = "default";
  std::uint32_t tenant_number = 0;  // of Access; the tenant's id in the engine, for fair shares
  std::string salt;                 // the tenant's secret; requests share cached prefixes only under the same salt
  unsigned scopes = 0;              // bits of Scope
  bool may(Scope scope) const noexcept { return scope == Scope::kNone || (scopes & static_cast<unsigned>(scope)) != 0; }
};

}  // namespace millrace::server
