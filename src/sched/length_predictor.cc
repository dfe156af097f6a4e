#include "sched/length_predictor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace millrace::sched {
namespace {

constexpr std::size_t kSets = 128, kWays = 4;  // tenants remembered: 512, four of a hash
constexpr std::size_t kTenantLengths = 32, kAllLengths = 256;
constexpr std::size_t kFew = 8;  // lengths, below which a tenant's say nothing

// The last N lengths.
template <std::size_t N>
class Recent {
 public:
  void add(std::int64_t length) {
    lengths_[count_ % N] = static_cast<std::int32_t>(std::min<std::int64_t>(length, INT32_MAX));
    ++count_;
  }
  void clear() { count_ = 0; }
  std::span<const std::int32_t> get() const { return std::span(lengths_).first(std::min(count_, N)); }

 private:
  std::array<std::int32_t, N> lengths_{};
  std::size_t count_ = 0;
};

struct Tenant {
  std::uint32_t id = 0;
  std::uint64_t last_used = 0;  // 0: unused
  Recent<kTenantLengths> lengths;
};

class QuantilePredictor final : public LengthPredictor {
 public:
  explicit QuantilePredictor(double quantile) : quantile_(std::clamp(quantile, 0.0, 1.0)) {}

  std::int64_t predict(std::uint32_t tenant, std::int64_t, std::int64_t produced, std::int64_t max_tokens,
                       std::int64_t hint) const override {
    if (max_tokens <= produced + 1) return max_tokens;
    std::int64_t length = max_tokens;
    if (hint > produced) {
      length = hint;
    } else if (all_.get().size() >= kFew) {
      const Tenant* known = find(tenant);
      length = known != nullptr ? longer_than(produced, known->lengths.get(), kFew) : 0;
      if (length == 0) length = longer_than(produced, all_.get(), 1);
      // Longer than all before: as many again, as lengths have long tails.
      if (length == 0) length = 2 * produced;
    }
    return std::clamp(length, produced + 1, max_tokens);
  }

  void observe(std::uint32_t tenant, std::int64_t output_tokens) override {
    if (output_tokens <= 0) return;
    all_.add(output_tokens);
    Tenant& entry = take(tenant);
    entry.lengths.add(output_tokens);
    entry.last_used = ++uses_;
  }

 private:
  // The quantile of those that are longer; 0 where they are fewer than `least`.
  std::int64_t longer_than(std::int64_t produced, std::span<const std::int32_t> lengths, std::size_t least) const {
    std::array<std::int32_t, kAllLengths> longer;
    std::size_t n = 0;
    for (const std::int32_t length : lengths) {
      if (length > produced) longer[n++] = length;
    }
    if (n < least) return 0;
    const auto rank = static_cast<std::size_t>(std::ceil(quantile_ * static_cast<double>(n)));
    const std::size_t index = std::clamp<std::size_t>(rank, 1, n) - 1;
    std::nth_element(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(index),
                     longer.begin() + static_cast<std::ptrdiff_t>(n));
    return longer[index];
  }

  static std::size_t first_way(std::uint32_t tenant) { return (tenant * 2654435761u >> 25) % kSets * kWays; }
  const Tenant* find(std::uint32_t tenant) const {
    for (std::size_t i = first_way(tenant), end = i + kWays; i < end; ++i) {
      if (tenants_[i].last_used > 0 && tenants_[i].id == tenant) return &tenants_[i];
    }
    return nullptr;
  }
  Tenant& take(std::uint32_t tenant) {
    const std::size_t first = first_way(tenant);
    std::size_t oldest = first;
    for (std::size_t i = first; i < first + kWays; ++i) {
      if (tenants_[i].last_used > 0 && tenants_[i].id == tenant) return tenants_[i];
      if (tenants_[i].last_used < tenants_[oldest].last_used) oldest = i;
    }
    tenants_[oldest].id = tenant;
    tenants_[oldest].lengths.clear();
    return tenants_[oldest];
  }

  double quantile_;
  std::uint64_t uses_ = 0;
  Recent<kAllLengths> all_;
  std::array<Tenant, kSets * kWays> tenants_{};
};

}  // namespace

std::unique_ptr<LengthPredictor> make_quantile_predictor(double quantile) {
  return std::make_unique<QuantilePredictor>(quantile);
}

}  // namespace millrace::sched
