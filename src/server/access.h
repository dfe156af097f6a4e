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
  std::int64_t requests_per_minute = 0;  // 0 = any number
  std::int64_t tokens_per_minute = 0;    // prompt and answer together
  std::int64_t concurrent = 0;           // requests at once
};

// Keys, who they belong to and what they open. Immutable but for quotas and throttling; thread-safe.
class Access {
 public:
  // Lines of a key file: `KEY [tenant=NAME] [scopes=infer,admin,metrics] [rpm=N] [tpm=N] [concurrent=N]`; # begins a
  // comment. Without scopes a key may infer. `plain_keys` (of the environment or a flag) may do everything.
  // kInvalidArgument naming the line, never the key.
  static Result<Access> load(std::string_view key_file, const std::vector<std::string>& plain_keys,
                             std::uint64_t secret);
  Access(Access&& other) noexcept
      : secret_(other.secret_),
        has_keys_(other.has_keys_),
        plain_(std::move(other.plain_)),
        open_(std::move(other.open_)),
        keys_(std::move(other.keys_)),
        tenants_(std::move(other.tenants_)) {}

  // Takes the keys and quotas of another text of the key file from now on; what runs goes on, and tenants keep what
  // they have used. kInvalidArgument, changing nothing, for lines that are wrong or where no key would be left.
  Result<void> reload(std::string_view key_file);
  // Whether there were any at the start: a reload neither opens nor closes a server.
  bool has_keys() const noexcept { return has_keys_; }
  // The caller that shows these keys: each must be known, and all of one tenant; they open what each of them opens.
  // Without any keys configured everybody may do everything. Compares in constant time over all keys; 401, or 429 for a
  // peer that keeps trying keys.
  Result<Caller> caller(std::span<const std::string_view> shown, const std::string& peer, TimePoint now,
                        ApiError& rejection) const;

  // Counts a request against its tenant's quota, and gives its place back.
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
    // A bucket each, refilled by the minute.
    double requests = 0.0, tokens = 0.0;
    std::int64_t running = 0;
    TimePoint filled{};
  };
  struct DraftTokens {
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
  Caller open_;               // everybody, where there are no keys
  mutable std::mutex mutex_;  // of what follows
  std::vector<Key> keys_;
  mutable std::vector<Tenant> tenants_;  // never fewer: callers know them by number
  mutable std::unordered_map<std::string, DraftTokens> draft_tokens_;
};

}  // namespace millrace::server
