#include "sched/schedule_policy.h"

#include <fmt/format.h>

namespace millrace::sched {

Result<void> check_options(const PolicyKind& kind, const PolicyOptions& options) {
  if (auto good = options.values.check(kind.options); !good) return good;
  return kind.check == nullptr ? Result<void>() : kind.check(options);
}

Result<std::unique_ptr<SchedulePolicy>> make_policy(std::string_view name, const PolicyOptions& options) {
  std::string known;
  for (const PolicyKind& kind : all_policies()) {
    if (kind.name == name) {
      if (auto good = check_options(kind, options); !good) return good.error();
      return kind.make(options);
    }
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  return make_error(ErrorCode::kInvalidArgument, "scheduling-policy", "scheduling-policy is '{}': expected one of {}",
                    name, known);
}

}  // namespace millrace::sched
