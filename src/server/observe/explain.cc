#include "server/observe/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace millrace::server::observe {
namespace {

using engine::RequestStats;
using engine::TimeSpent;

struct CauseKind {
  std::string_view name;
  double TimeSpent::* part;
  std::string (*sentence)(const RequestStats& stats, const TimeSpent& spent);
};

std::string counted(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string_view was(std::int64_t n) { return n == 1 ? "was" : "were"; }

std::string prefill_sentence(const RequestStats& stats, const TimeSpent&) {
  const std::int64_t computed = stats.prompt_tokens - stats.cached_tokens;
  return fmt::format("{} of its prompt {} computed; {} {} found in the cache", counted(computed, "token", "tokens"),
                     was(computed), stats.cached_tokens, was(stats.cached_tokens));
}

// How many experts its steps read, to add to a sentence; "" for a model without.
std::string of_experts(const TimeSpent& spent) {
  const model::ExpertUse& use = spent.decode_experts;
  if (use.layers == 0) return {};
  return fmt::format("; a step read {:.1f} of {:.0f} experts in each layer", use.touched_per_layer(),
                     use.experts_per_layer());
}

constexpr std::array kCauses = {
    CauseKind{"queue", &TimeSpent::queue_ms,
              [](const RequestStats&, const TimeSpent&) -> std::string {
                return "it waited for a place: all sequences or all pages of the KV cache were taken";
              }},
    CauseKind{"adapter", &TimeSpent::adapters_ms,
              [](const RequestStats&, const TimeSpent&) -> std::string {
                return "its adapter was not in memory: it was read, or waited until requests left others";
              }},
    CauseKind{"prefill", &TimeSpent::prefill_ms, &prefill_sentence},
    CauseKind{"prefill_shared", &TimeSpent::prefill_shared_ms,
              [](const RequestStats&, const TimeSpent&) -> std::string {
                return "the steps that computed its prompt worked for other requests too";
              }},
    CauseKind{"held", &TimeSpent::stalled_ms,
              [](const RequestStats&, const TimeSpent&) -> std::string {
                return "it had a place, but the steps went to others: their budget of tokens was spent";
              }},
    CauseKind{"decode", &TimeSpent::decode_ms,
              [](const RequestStats& stats, const TimeSpent& spent) {
                return fmt::format("{} were sampled one after the other, as fast as it would be alone{}",
                                   counted(stats.output_tokens, "token", "tokens"), of_experts(spent));
              }},
    CauseKind{"decode_batch", &TimeSpent::decode_batch_ms,
              [](const RequestStats&, const TimeSpent& spent) {
                return fmt::format("its steps drew tokens of other requests too{}", of_experts(spent));
              }},
    CauseKind{"decode_prefill", &TimeSpent::decode_prefill_ms,
              [](const RequestStats&, const TimeSpent&) -> std::string {
                return "its steps computed prompts of other requests too";
              }},
    CauseKind{"preempted", &TimeSpent::preempted_ms,
              [](const RequestStats& stats, const TimeSpent&) {
                return fmt::format("it lost its place {} as pages of the KV cache ran short",
                                   counted(stats.preemptions, "time", "times"));
              }},
    CauseKind{"recompute", &TimeSpent::recompute_ms,
              [](const RequestStats&, const TimeSpent& spent) {
                return fmt::format("{} {} computed again after that",
                                   counted(spent.recomputed_tokens, "token", "tokens"), was(spent.recomputed_tokens));
              }},
    CauseKind{"paused", &TimeSpent::paused_ms,
              [](const RequestStats&, const TimeSpent&) -> std::string {
                return "its own reader did not read: it was paused so that no other request waits";
              }},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kCauses.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCauses[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> cause_names() noexcept { return kNames; }

std::vector<double> milliseconds_by_cause(const TimeSpent& spent) {
  std::vector<double> parts;
  for (const CauseKind& kind : kCauses) parts.push_back(spent.*kind.part);
  return parts;
}

std::vector<Cause> explain(const RequestStats& stats, const TimeSpent& spent) {
  const double whole = spent.total_ms();
  std::vector<Cause> causes;
  for (const CauseKind& kind : kCauses) {
    const double ms = spent.*kind.part;
    if (!(ms > 0.0)) continue;
    causes.push_back(
        {.name = kind.name, .milliseconds = ms, .share = ms / whole, .sentence = kind.sentence(stats, spent)});
  }
  std::ranges::stable_sort(causes, std::ranges::greater{}, &Cause::milliseconds);
  return causes;
}

}  // namespace millrace::server::observe
