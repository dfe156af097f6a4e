#include "base/old_names.h"

#include <algorithm>
#include <array>

namespace millrace {
namespace {

using enum OldName::Kind;

constexpr std::array kOldNames = {
    OldName{kFlag, "kv-archive", "kv-disk-tier"},
    OldName{kFlag, "kv-archive-limit", "kv-disk-tier-limit"},
    OldName{kFlag, "refuse-late", "reject-late"},
    OldName{kFlag, "abandon", "disconnect-fraction"},
    OldName{kFlag, "frontier", "max-goodput"},
    OldName{kFlag, "highest-rate", "max-rate"},
    OldName{kRule, "google", "leviathan"},
    OldName{kMetric, "millrace:kv_adjacent_ratio", "millrace:kv_contiguous_ratio"},
    OldName{kMetric, "millrace:kv_long_run_ratio", "millrace:kv_long_extent_ratio"},
    OldName{kMetric, "millrace:refused_total", "millrace:rejected_total"},
    OldName{kMember, "frontier", "max_goodput"},
    OldName{kMember, "figures", "metrics"},
    OldName{kMember, "refused", "rejected"},
    OldName{kOutcome, "refused", "rejected"},
    OldName{kOutcome, "abandoned", "disconnected"},
};

}  // namespace

std::span<const OldName> all_old_names() noexcept { return kOldNames; }

std::optional<std::string_view> renamed(OldName::Kind kind, std::string_view name) noexcept {
  const auto found =
      std::ranges::find_if(kOldNames, [&](const OldName& one) { return one.kind == kind && one.old == name; });
  return found == kOldNames.end() ? std::nullopt : std::optional(found->now);
}

}  // namespace millrace
