#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "base/sha256.h"
#include "server/api_error.h"
#include "server/caller.h"

namespace millrace::server {

struct TenantQuota {
  std::int64_t requests_per_minute = 0;  // 0 = no limit, as for the others
  std::int64_t tokens_per_minute = 0;    // prompt and answer together
  std::int64_t concurrent = 0;           // requests in flight
};

// API keys, their tenants and scopes, and the tenants' quotas. Thread-safe.
class Access {
 public:
  // Lines of a key file: `KEY [tenant=NAME] [scopes=infer,admin,metrics] [rpm=N] [tpm=N] [concurrent=N]`; # begins a
  // comment. A key without scopes has the scope infer. `plain_keys` come from a flag or the environment and have all
  // scopes. `secret` makes the tenants' cache salts unpredictable. kInvalidArgument names the line, never the key.
  static Result<Access> load(std::string_view key_file, const std::vector<std::string>& plain_keys,
                             std::uint64_t secret);
  Access(Access&& other) noexcept
      : secret_(other.secret_),
        has_keys_(other.has_keys_),
        plain_(std::move(other.plain_)),
        open_(std::move(other.open_)),
        keys_(std::move(other.keys_)),
        tenants_(std::move(other.tenants_)) {}

  // Replaces keys and quotas by those of a new text of the key file. Requests in flight go on, and tenants keep what
  // they have used of their quotas. kInvalidArgument for an invalid line, or if no key would be left; nothing changes
  // then.
  Result<void> reload(std::string_view key_file);
  // Whether any keys were configured at the start. A reload does not change it.
  bool has_keys() const noexcept { return has_keys_; }
  // The caller with these keys. Each must be known and all must belong to one tenant; the scopes are the union. Without
  // configured keys every caller has all scopes. Compares in constant time over all keys. `rejection` is 401, or 429
  // for a peer with too many failed attempts.
  Result<Caller> caller(std::span<const std::string_view> shown, const std::string& peer, TimePoint now,
                        ApiError& rejection) const;

  // Counts a request against its tenant's quota: an error with status 429 if it is used up. end_request() ends it, with
  // the tokens of prompt and answer.
  std::optional<ApiError> begin_request(const Caller& caller, TimePoint now) const;
  void end_request(const Caller& caller, std::int64_t tokens, TimePoint now) const;
  std::vector<std::string> tenant_names() const;

 private:
  struct Key {
    Sha256Digest digest;
    std::uint32_t tenant;
    unsigned scopes;
  };
  struct Tenant {
    std::string name, salt;
    TenantQuota quota;
    // Token buckets of the two rates, refilled continuously.
    double requests = 0.0, tokens = 0.0;
    std::int64_t running = 0;
    TimePoint filled{};
  };
  struct FailedAttempts {
    int failed = 0;
    TimePoint since{};
  };
  Access() = default;
  Caller caller_of(std::uint32_t tenant, unsigned scopes) const;
  std::optional<Key> find(std::string_view shown) const;
  static void refill(Tenant& tenant, TimePoint now);

  std::uint32_t tenant_of(std::string_view name);
  Result<void> read(std::string_view key_file);

  std::uint64_t secret_ = 0;
  bool has_keys_ = false;
  std::vector<std::string> plain_;
  Caller open_;               // every caller, if no keys are configured
  mutable std::mutex mutex_;  // guards the members below
  std::vector<Key> keys_;
  mutable std::vector<Tenant> tenants_;  // grows only: callers hold indices
  mutable std::unordered_map<std::string, FailedAttempts> failed_attempts_;
};

}  // namespace millrace::server
