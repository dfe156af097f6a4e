#include "loadtest/workload.h"

#include <algorithm>

namespace millrace::loadtest {

const WorkloadKind* find_workload(std::string_view name) noexcept {
  const auto kinds = all_workloads();
  const auto it = std::ranges::find(kinds, name, &WorkloadKind::name);
  return it == kinds.end() ? nullptr : &*it;
}

MadeWorkload make_workload(std::string_view name, const WorkloadOptions& options) {
  if (const WorkloadKind* kind = find_workload(name)) return kind->make(options);
  std::string names;
  for (const WorkloadKind& kind : all_workloads()) names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return make_error(ErrorCode::kInvalidArgument, "dataset-name", "dataset-name: '{}' is none of {}", name, names);
}

}  // namespace millrace::loadtest
