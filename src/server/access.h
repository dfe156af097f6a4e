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

// Limits of one tenant; 0 = no limit.
struct TenantQuota {
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;  // prompt and answer together
  std::int64_t concurrent = 0;         // requests at once
};

// API keys with their tenants and scopes, quotas of tenants, and throttling of addresses that send wrong keys. Keys are
// kept as SHA-256 only, except plain_keys. Thread-safe.
class Access {
 public:
  // `key_file` is the text of a key file, which has lines of
  // `KEY [tenant=NAME] [scopes=infer,admin,metrics] [adapters=NAME,...] [rpm=N] [tpm=N] [concurrent=N]`; # begins a
  // comment. A key has at least 8 bytes; without scopes it may infer; without adapters it may use all of them, and with
  // an empty list none; without a tenant it belongs to "default". Limits of 0 change nothing; of several lines of a
  // tenant the last limit counts. `plain_keys` (of the environment or a flag) may do everything.
  // `secret` is what the salts of tenants are derived from. kInvalidArgument for api-key-file, naming the line, never
  // the key.
  static Result<Access> load(std::string_view key_file, const std::vector<std::string>& plain_keys,
                             std::uint64_t secret);
  // Not thread-safe: only before others use `other`. Failed keys are forgotten.
  Access(Access&& other) noexcept
      : secret_(other.secret_),
        has_keys_(other.has_keys_),
        plain_(std::move(other.plain_)),
        open_(std::move(other.open_)),
        keys_(std::move(other.keys_)),
        tenants_(std::move(other.tenants_)) {}

  // Replaces the keys and quotas by those of another text of the key file. Requests that run go on, and tenants keep
  // their numbers and what they have used. kInvalidArgument for api-key-file, with nothing changed, for wrong lines,
  // and for a text that would leave a server with keys without any or give keys to a server without them.
  Result<void> reload(std::string_view key_file);
  // Whether requests must show a key. A reload does not change this.
  bool has_keys() const noexcept { return has_keys_; }
  // The caller that shows these keys. Each key must be known, and all must belong to one tenant; the caller has the
  // scopes and adapters that all of them have. Where has_keys() is false, every caller has all scopes. On failure sets
  // `rejection`, and the returned Error is empty: 401, or 429 where the address `peer` has failed more than 20 times
  // within a minute. A right key is always admitted. Takes O(keys) comparisons, whose time does not depend on the keys'
  // contents.
  Result<Caller> caller(std::span<const std::string_view> shown, const std::string& peer, TimePoint now,
                        ApiError& rejection) const;
  // The caller that is let in without a key: of the default tenant, with all scopes.
  const Caller& owner() const noexcept { return open_; }

  // Counts a request against its tenant's quota. 429 quota_exceeded with retry_after where the quota is used up; only
  // without an error must end_request() follow, once.
  std::optional<ApiError> begin_request(const Caller& caller, TimePoint now) const;
  // Counts the request's prompt and output tokens, and frees its place among the tenant's concurrent requests. The
  // quota of tokens may go below zero; then begin_request() rejects until it has refilled.
  void end_request(const Caller& caller, std::int64_t tokens, TimePoint now) const;
  // In the order of their numbers.
  std::vector<std::string> tenant_names() const;

 private:
  struct Key {
    Sha256Digest digest;
    std::uint32_t tenant;
    unsigned scopes;
    AdapterNames adapters;
  };
  struct Tenant {
    std::string name, salt;
    TenantQuota quota;
    // Token buckets: what is left of requests and tokens. Each refills steadily, up to the quota of one minute.
    double requests = 0.0, tokens = 0.0;
    std::int64_t running = 0;
    TimePoint filled{};  // time of the last refill
  };
  // Requests of one address that showed no valid key, counted for a minute since the first of them.
  struct FailedAttempts {
    int failed = 0;
    TimePoint since{};
  };
  Access() = default;
  Caller caller_of(std::uint32_t tenant, unsigned scopes, AdapterNames adapters = nullptr) const;
  std::optional<Key> find(std::string_view shown) const;
  static void refill(Tenant& tenant, TimePoint now);

  std::uint32_t tenant_of(std::string_view name);
  Result<void> read(std::string_view key_file);

  std::uint64_t secret_ = 0;
  bool has_keys_ = false;
  std::vector<std::string> plain_;
  Caller open_;               // every caller where there are no keys, and the owner of the server
  mutable std::mutex mutex_;  // guards all members below
  std::vector<Key> keys_;
  mutable std::vector<Tenant> tenants_;  // by tenant number; never shrinks, as callers hold numbers
  mutable std::unordered_map<std::string, FailedAttempts> failed_attempts_;  // by address, at most about 4096
};

}  // namespace millrace::server
