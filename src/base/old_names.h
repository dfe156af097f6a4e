#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace millrace {

// A public name that changed. The old name works in this version, with a warning if a person or program gave it, and
// will be removed in the next. docs/changed_names.md lists the same rows, and tests/cli/test_old_names.py tests them
// all.
struct OldName {
  enum class Kind {
    kFlag,     // of a command, without dashes; also renames its variable MILLRACE_NAME and its key in a --config file
    kRule,     // a value of --spec-rule
    kMetric,   // a family of /metrics: exported under both names
    kMember,   // of a report of `millrace bench` or `simulate`: both are written, and either is read
    kOutcome,  // of a request in a report of `millrace bench`: the new one is written, either is read
  };
  Kind kind;
  std::string_view old, now;
};

std::span<const OldName> all_old_names() noexcept;

// The present name for an old one; nothing if `name` is no old name of that kind.
std::optional<std::string_view> renamed(OldName::Kind kind, std::string_view name) noexcept;

}  // namespace millrace
