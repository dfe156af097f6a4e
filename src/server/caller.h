#pragma once

#include <cstdint>
#include <string>

namespace millrace::server {

enum class Scope : unsigned { kNone = 0, kInfer = 1, kAdmin = 2, kMetrics = 4 };

// The sender of a request, as its API keys identify it.
struct Caller {
  std::string tenant = "default";
  std::uint32_t tenant_number = 0;  // index, for policies that share fairly
  std::string salt;                 // the tenant's secret: requests share cached prefixes only under one salt
  unsigned scopes = 0;
  bool may(Scope scope) const noexcept { return scope == Scope::kNone || (scopes & static_cast<unsigned>(scope)) != 0; }
};

}  // namespace millrace::server
