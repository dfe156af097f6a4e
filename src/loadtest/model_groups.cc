#include "loadtest/model_groups.h"

#include <algorithm>
#include <map>

#include "loadtest/run_metrics.h"

namespace millrace::loadtest {
namespace {

struct GroupTimes {
  std::vector<double> ttft_ms, tpot_ms;
};

void add(const RequestRecord& record, ModelGroup& group, GroupTimes& times) {
  if (!record.good()) {
    ++group.failed;
    return;
  }
  ++group.completed;
  group.output_tokens += record.output_tokens();
  times.ttft_ms.push_back(1e3 * record.ttft());
  if (record.output_tokens() > 1) times.tpot_ms.push_back(1e3 * record.tpot());
  const auto wait = std::ranges::find(record.server.causes, "adapter", &ServerTimes::Cause::name);
  if (wait == record.server.causes.end()) return;
  ++group.waited;
  group.wait_ms += wait->ms;
}

}  // namespace

std::vector<ModelGroup> model_groups(const LoadRun& run) {
  std::map<std::string, std::pair<ModelGroup, GroupTimes>> by_model;
  bool chosen = false;
  for (const RequestRecord& record : run.records) {
    if (!counts(record)) continue;
    chosen = chosen || !record.model.empty();
    auto& [group, times] = by_model[record.model];
    add(record, group, times);
  }
  std::vector<ModelGroup> groups;
  for (auto& [model, one] : by_model) {
    auto& [group, times] = one;
    group.model = model;
    group.ttft_ms = metrics::distribution_of(times.ttft_ms);
    group.tpot_ms = metrics::distribution_of(times.tpot_ms);
    if (group.waited > 0) group.wait_ms /= static_cast<double>(group.waited);
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, [](const ModelGroup& g) { return g.completed + g.failed; });
  return chosen ? groups : std::vector<ModelGroup>();
}

}  // namespace millrace::loadtest
