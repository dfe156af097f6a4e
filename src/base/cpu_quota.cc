#include "base/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/cpu.h"
#include "base/first_line.h"

namespace millrace {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == text.npos) return std::nullopt;
  const auto period = number(text.substr(space + 1));
  if (!period || *period <= 0.0) return std::nullopt;
  if (text.substr(0, space) == "max") return 0.0;
  const auto quota = number(text.substr(0, space));
  return quota && *quota > 0.0 ? std::optional(*quota / *period) : std::nullopt;
}

// Of the group that this process sees as root: in a container its own.
double cpu_quota() {
  if (const auto v2 = parse_cpu_max(first_line("/sys/fs/cgroup/cpu.max"))) return *v2;
  const auto quota = number(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  const auto period = number(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  return quota && period && *quota > 0.0 && *period > 0.0 ? *quota / *period : 0.0;
}

int usable_threads() {
  const int processors = std::max(1, cpu_info().logical_cpus);
  const double quota = cpu_quota();
  return quota > 0.0 ? std::clamp(static_cast<int>(quota), 1, processors) : processors;
}

}  // namespace millrace
