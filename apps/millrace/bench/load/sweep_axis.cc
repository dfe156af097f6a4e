#include "bench/load/sweep_axis.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "sched/schedule_policy.h"

namespace millrace::bench {
namespace {

struct Set {
  std::string_view name;
  std::vector<SweepSeries> series;
};

// What people compare by one word.
std::vector<Set> sets() {
  std::vector<Set> sets = {
      {"batching",
       {{"static", "--batching static"}, {"dynamic", "--batching dynamic"}, {"continuous", "--batching continuous"}}},
      {"prefix-caching", {{"off", "--no-prefix-caching"}, {"on", "--prefix-caching"}}},
      {"speculation",
       {{"off", "--spec-method none"}, {"ngram", "--spec-method ngram"}, {"suffix", "--spec-method suffix"}}},
      {"kv-dtypes", {{"bf16", "--kv-cache-dtype bf16"}, {"int8", "--kv-cache-dtype int8"}}},
      {"policies", {}}};
  for (const sched::PolicyKind& policy : sched::all_policies()) {
    sets.back().series.push_back({std::string(policy.name), "--scheduling-policy " + std::string(policy.name)});
  }
  return sets;
}

}  // namespace

const SweepAxis* find_sweep_axis(std::string_view name) noexcept {
  const auto axes = all_sweep_axes();
  const auto it = std::ranges::find(axes, name, &SweepAxis::name);
  return it == axes.end() ? nullptr : &*it;
}

std::vector<SweepSeries> parse_series(const std::vector<std::string>& texts) {
  std::vector<SweepSeries> found;
  const std::vector<Set> known = sets();
  for (const std::string& text : texts) {
    if (const auto it = std::ranges::find(known, text, &Set::name); it != known.end()) {
      found.insert(found.end(), it->series.begin(), it->series.end());
      continue;
    }
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      std::string names;
      for (const Set& set : known) names += (names.empty() ? "" : ", ") + std::string(set.name);
      throw_load_error(ErrorCode::kInvalidArgument, "series", "series is '{}': expected LABEL=ARGUMENTS or one of {}",
                       text, names);
    }
    found.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return found;
}

}  // namespace millrace::bench
