#include "server/access.h"

#include <algorithm>
#include <charconv>
#include <span>

namespace millrace::server {
namespace {

constexpr int kMaxFailedAttempts = 20;  // a minute, of one address
constexpr double kMinuteMs = 60'000.0;
constexpr std::size_t kAddresses = 4096;  // whose failures are remembered
constexpr unsigned kEverything = 7;

// Comparing digests says nothing of the key, however long equal bytes take.
Sha256Digest digest_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

// A tenant's own secret, so that no tenant can ask whether another's prefix is cached.
std::string salt_of(std::uint64_t secret, std::string_view tenant) {
  std::string salt;
  for (const std::uint8_t byte : digest_of(fmt::format("millrace tenant {:016x} {}", secret, tenant))) {
    fmt::format_to(std::back_inserter(salt), "{:02x}", byte);
  }
  return salt;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos || line[begin] == '#') break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

std::optional<unsigned> scopes_of(std::string_view list) {
  unsigned scopes = 0;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view one = list.substr(at, end - at);
    const Scope scope = one == "infer"     ? Scope::kInfer
                        : one == "admin"   ? Scope::kAdmin
                        : one == "metrics" ? Scope::kMetrics
                                           : Scope::kNone;
    if (scope == Scope::kNone) return std::nullopt;
    scopes |= static_cast<unsigned>(scope);
    at = end + 1;
  }
  return scopes;
}

AdapterNames names_of(std::string_view list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) names.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

// Adapters that are among both.
AdapterNames common(const AdapterNames& a, const AdapterNames& b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  std::vector<std::string> both;
  for (const std::string& name : *a) {
    if (std::ranges::find(*b, name) != b->end()) both.push_back(name);
  }
  return std::make_shared<const std::vector<std::string>>(std::move(both));
}

// All of it whatever differs first.
bool equal(const Sha256Digest& a, const Sha256Digest& b) noexcept {
  std::uint8_t differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs = static_cast<std::uint8_t>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

}  // namespace

Result<Access> Access::load(std::string_view key_file, const std::vector<std::string>& plain_keys,
                            std::uint64_t secret) {
  Access access;
  access.secret_ = secret;
  access.plain_ = plain_keys;
  access.open_ = access.caller_of(access.tenant_of("default"), kEverything);
  if (auto fine = access.read(key_file); !fine) return fine.error();
  access.has_keys_ = !access.keys_.empty();
  return access;
}

Result<void> Access::reload(std::string_view key_file) {
  auto fresh = load(key_file, plain_, secret_);
  if (!fresh) return fresh.error();
  if (has_keys_ != fresh->has_keys_) {
    return make_error(ErrorCode::kInvalidArgument, "api-key-file", "the file holds no key: those before stay");
  }
  const std::lock_guard lock(mutex_);
  for (Tenant& tenant : tenants_) tenant.quota = {};
  for (Key& key : fresh->keys_) {
    const Tenant& meant = fresh->tenants_[key.tenant];
    key.tenant = tenant_of(meant.name);
    tenants_[key.tenant].quota = meant.quota;
  }
  keys_ = std::move(fresh->keys_);
  return {};
}

std::uint32_t Access::tenant_of(std::string_view name) {
  for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
    if (tenants_[i].name == name) return i;
  }
  Tenant tenant;
  tenant.name = name;
  tenant.salt = salt_of(secret_, name);
  tenants_.push_back(std::move(tenant));
  return static_cast<std::uint32_t>(tenants_.size() - 1);
}

Result<void> Access::read(std::string_view key_file) {
  const std::uint32_t everybody = tenant_of("default");
  for (const std::string& key : plain_) keys_.push_back({digest_of(key), everybody, kEverything, nullptr});
  int number = 0;
  for (std::size_t at = 0; at < key_file.size();) {
    const std::size_t end = std::min(key_file.find('\n', at), key_file.size());
    const auto words = words_of(key_file.substr(at, end - at));
    at = end + 1;
    ++number;
    if (words.empty()) continue;
    const auto wrong = [&](std::string_view what) {
      return make_error(ErrorCode::kInvalidArgument, "api-key-file", "line {}: {}", number, what);
    };
    if (words[0].size() < 8) return wrong("a key has at least 8 characters");
    Key key{digest_of(words[0]), everybody, static_cast<unsigned>(Scope::kInfer), nullptr};
    TenantQuota quota;
    for (std::size_t w = 1; w < words.size(); ++w) {
      const std::size_t mark = words[w].find('=');
      const std::string_view name = words[w].substr(0, mark);
      const std::string_view value = mark == std::string_view::npos ? "" : words[w].substr(mark + 1);
      std::int64_t count = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), count);
      const bool is_count = parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() && count >= 0;
      if (name == "tenant" && !value.empty()) {
        key.tenant = tenant_of(value);
      } else if (name == "scopes" && scopes_of(value)) {
        key.scopes = *scopes_of(value);
      } else if (name == "adapters" && mark != std::string_view::npos) {
        key.adapters = names_of(value);
      } else if (name == "rpm" && is_count) {
        quota.requests_per_minute = count;
      } else if (name == "tpm" && is_count) {
        quota.tokens_per_minute = count;
      } else if (name == "concurrent" && is_count) {
        quota.concurrent = count;
      } else {
        return wrong(
            "expected tenant=NAME, scopes=infer,admin,metrics, adapters=NAME,..., rpm=N, tpm=N or concurrent=N after "
            "the "
            "key");
      }
    }
    Tenant& tenant = tenants_[key.tenant];
    if (quota.requests_per_minute > 0) tenant.quota.requests_per_minute = quota.requests_per_minute;
    if (quota.tokens_per_minute > 0) tenant.quota.tokens_per_minute = quota.tokens_per_minute;
    if (quota.concurrent > 0) tenant.quota.concurrent = quota.concurrent;
    keys_.push_back(key);
  }
  return {};
}

Caller Access::caller_of(std::uint32_t tenant, unsigned scopes, AdapterNames adapters) const {
  return {tenants_[tenant].name, tenant, tenants_[tenant].salt, scopes, std::move(adapters)};
}

std::optional<Access::Key> Access::find(std::string_view shown) const {
  const auto digest = digest_of(shown);
  std::optional<Key> found;
  for (const Key& key : keys_) {
    if (equal(key.digest, digest)) found = key;  // and on: all keys take the same time
  }
  return found;
}

Result<Caller> Access::caller(std::span<const std::string_view> shown, const std::string& peer, TimePoint now,
                              ApiError& rejection) const {
  if (!has_keys_) return open_;
  const std::lock_guard lock(mutex_);
  std::optional<Key> found;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto key = find(shown[i]);
    if (!key || (i > 0 && (!found || key->tenant != found->tenant))) {
      found.reset();
      break;
    }
    if (found) {
      found->scopes &= key->scopes;
      found->adapters = common(found->adapters, key->adapters);
    } else {
      found = key;
    }
  }
  if (failed_attempts_.size() > kAddresses) failed_attempts_.clear();
  const auto attempts = failed_attempts_.find(peer);
  if (attempts != failed_attempts_.end() && milliseconds_between(attempts->second.since, now) > kMinuteMs)
    failed_attempts_.erase(attempts);
  if (found) return caller_of(found->tenant, found->scopes, found->adapters);
  FailedAttempts& mine = failed_attempts_[peer];
  if (mine.failed++ == 0) mine.since = now;
  rejection = mine.failed > kMaxFailedAttempts
                  ? ApiError(429, "too_many_failures", "", "too many requests without a valid API key")
              : shown.empty() ? ApiError(401, "missing_api_key", "", "an API key is needed: Authorization: Bearer KEY")
                              : ApiError(401, "invalid_api_key", "", "the API key is not valid");
  return Error{};
}

void Access::refill(Tenant& tenant, TimePoint now) {
  const auto rpm = static_cast<double>(tenant.quota.requests_per_minute);
  const auto tpm = static_cast<double>(tenant.quota.tokens_per_minute);
  const double minutes = tenant.filled == TimePoint{} ? 1.0 : milliseconds_between(tenant.filled, now) / kMinuteMs;
  tenant.requests = std::min(rpm, tenant.requests + rpm * minutes);
  tenant.tokens = std::min(tpm, tenant.tokens + tpm * minutes);
  tenant.filled = now;
}

std::optional<ApiError> Access::begin_request(const Caller& caller, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  Tenant& tenant = tenants_[caller.tenant_number];
  refill(tenant, now);
  const auto over = [&](const char* what, double seconds) {
    ApiError error(429, "quota_exceeded", "", what);
    error.retry_after = std::max(1, static_cast<int>(seconds + 1.0));
    return error;
  };
  if (tenant.quota.concurrent > 0 && tenant.running >= tenant.quota.concurrent) {
    return over("the tenant has as many requests running as it may", 1.0);
  }
  if (tenant.quota.requests_per_minute > 0 && tenant.requests < 1.0) {
    return over("the tenant has used its requests of this minute",
                60.0 / static_cast<double>(tenant.quota.requests_per_minute));
  }
  if (tenant.quota.tokens_per_minute > 0 && tenant.tokens <= 0.0) {
    return over("the tenant has used its tokens of this minute",
                60.0 * -tenant.tokens / static_cast<double>(tenant.quota.tokens_per_minute));
  }
  tenant.requests -= 1.0;
  ++tenant.running;
  return std::nullopt;
}

void Access::end_request(const Caller& caller, std::int64_t tokens, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  Tenant& tenant = tenants_[caller.tenant_number];
  refill(tenant, now);
  tenant.tokens -= static_cast<double>(tokens);
  --tenant.running;
}

std::vector<std::string> Access::tenant_names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Tenant& tenant : tenants_) names.push_back(tenant.name);
  return names;
}

}  // namespace millrace::server
