#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

constexpr double kPromptTokenCharge = 1.0, kAnswerTokenCharge = 2.0;  // as in the paper
constexpr std::size_t kIdleTenants = 1024;                            // remembered without a request

constexpr double kMinWeight = 0.001, kMaxWeight = 1000.0;

constexpr OptionSpec kTenantWeights = {
    .name = "tenant_weights",
    .kind = OptionSpec::Kind::kText,
    .help =
        "Weights of tenants with --scheduling-policy fair, e.g. alice=2,bob=0.5: a tenant gets tokens in proportion "
        "to its weight; between 0.001 and 1000, and 1 for tenants not named. Where no key file is read, tenants are "
        "named by number"};

using TenantWeights = std::vector<std::pair<std::uint32_t, double>>;

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

Result<std::uint32_t> tenant_named(std::string_view name, const std::vector<std::string>& tenants) {
  const std::string field = kTenantWeights.flag_name();
  std::uint32_t number = 0;
  if (tenants.empty()) {
    if (parse_whole(name, number)) return number;
    return make_error(ErrorCode::kInvalidArgument, field, "{} names the tenant '{}': expected a number from 0 to {}",
                      field, name, std::numeric_limits<std::uint32_t>::max());
  }
  const auto found = std::ranges::find(tenants, name);
  if (found != tenants.end()) return static_cast<std::uint32_t>(found - tenants.begin());
  return make_error(ErrorCode::kInvalidArgument, field, "{} names the tenant '{}': expected one of {}", field, name,
                    fmt::join(tenants, ", "));
}

// Of "name=weight,...".
Result<TenantWeights> weights_of(const PolicyOptions& options) {
  const std::string text = options.values.text(kTenantWeights), field = kTenantWeights.flag_name();
  TenantWeights weights;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::size_t mark = part.rfind('=');
    double weight = 0.0;
    if (mark == std::string_view::npos || !parse_whole(part.substr(mark + 1), weight)) {
      return make_error(ErrorCode::kInvalidArgument, field, "{} has '{}': expected name=weight", field, part);
    }
    const auto tenant = tenant_named(part.substr(0, mark), options.tenants);
    if (!tenant) return tenant.error();
    if (!(weight >= kMinWeight && weight <= kMaxWeight)) {
      return make_error(ErrorCode::kInvalidArgument, field, "{} has '{}': the weight must be between {} and {}", field,
                        part, kMinWeight, kMaxWeight);
    }
    if (std::ranges::find(weights, *tenant, &TenantWeights::value_type::first) != weights.end()) {
      return make_error(ErrorCode::kInvalidArgument, field, "{} has '{}': each tenant may be named once", field, part);
    }
    weights.emplace_back(*tenant, weight);
  }
  return weights;
}

struct Tenant {
  std::uint32_t id = 0;
  std::int64_t sequences = 0;  // waiting or running; < 0: the slot is unused
  double counter = 0.0;        // tokens served, by charge and weight
  double weight = 1.0;
};

// Virtual token counter (VTC, arXiv:2401.00588): the tenant that was served least goes first. One that comes back is
// lifted to the least counter of the active, so that no tenant saves up service by being idle. What the prefix cache
// gave costs nothing.
class Fair final : public SchedulePolicy {
 public:
  explicit Fair(TenantWeights weights) : weights_(std::move(weights)) {}

  Rank rank(const Sequence& sequence, const PolicyView&) const override {
    return {.key = tenants_[sequence.policy_slot].counter};
  }

  void arrived(Sequence& sequence, const PolicyView&) override {
    sequence.policy_slot = find(sequence.tenant);
    Tenant& tenant = tenants_[sequence.policy_slot];
    if (tenant.sequences == 0) {
      tenant.counter = std::max(tenant.counter, floor());
      idle_ -= 1;
    }
    ++tenant.sequences;
  }

  void served(const Sequence& sequence, std::int64_t n_tokens, bool sampled, const PolicyView&) override {
    Tenant& tenant = tenants_[sequence.policy_slot];
    const std::int64_t first = sequence.computed - n_tokens;
    const std::int64_t prompt = std::max<std::int64_t>(0, std::min(sequence.computed, sequence.prompt_tokens) - first);
    tenant.counter +=
        (static_cast<double>(prompt) * kPromptTokenCharge + (sampled ? kAnswerTokenCharge : 0.0)) / tenant.weight;
  }

  void left(const Sequence& sequence) override {
    Tenant& tenant = tenants_[sequence.policy_slot];
    if (--tenant.sequences > 0) return;
    last_left_ = tenant.counter;
    if (++idle_ > kIdleTenants) forget();
  }

 private:
  // What a newly active tenant is lifted to: the least counter of the active; of the last active one where there are
  // none.
  double floor() const {
    double least = last_left_;
    bool active = false;
    for (const Tenant& tenant : tenants_) {
      if (tenant.sequences <= 0) continue;
      least = active ? std::min(least, tenant.counter) : tenant.counter;
      active = true;
    }
    return least;
  }
  std::uint32_t find(std::uint32_t id) {
    for (std::uint32_t slot = 0; slot < tenants_.size(); ++slot) {
      if (tenants_[slot].id == id && !is_free(slot)) return slot;
    }
    ++idle_;
    const Tenant tenant{.id = id, .sequences = 0, .counter = 0.0, .weight = weight(id)};
    if (free_.empty()) {
      tenants_.push_back(tenant);
      return static_cast<std::uint32_t>(tenants_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    tenants_[slot] = tenant;
    return slot;
  }
  bool is_free(std::uint32_t slot) const { return tenants_[slot].sequences < 0; }
  // The idle one with the least counter: when it comes back, it is lifted at least as high as most.
  void forget() {
    std::uint32_t least = 0;
    bool found = false;
    for (std::uint32_t slot = 0; slot < tenants_.size(); ++slot) {
      if (tenants_[slot].sequences != 0) continue;
      if (!found || tenants_[slot].counter < tenants_[least].counter) least = slot;
      found = true;
    }
    tenants_[least].sequences = -1;
    free_.push_back(least);
    --idle_;
  }
  double weight(std::uint32_t id) const {
    for (const auto& [tenant, weight] : weights_) {
      if (tenant == id) return weight;
    }
    return 1.0;
  }

  TenantWeights weights_;
  std::vector<Tenant> tenants_;      // by slot
  std::vector<std::uint32_t> free_;  // slots of forgotten ones
  std::size_t idle_ = 0;             // tenants without a sequence
  double last_left_ = 0.0;
};

}  // namespace

PolicyKind fair() {
  return {.name = "fair",
          .description = "the tenant that was served the fewest tokens first, by weight",
          .make =
              [](const PolicyOptions& options) {
                return std::unique_ptr<SchedulePolicy>(std::make_unique<Fair>(weights_of(options).or_throw()));
              },
          .options = {kTenantWeights},
          .check =
              [](const PolicyOptions& options) {
                const auto weights = weights_of(options);
                return weights ? Result<void>() : weights.error();
              }};
}

}  // namespace millrace::sched::policies
