#include "runtime/rank_options.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "base/byte_archive.h"
#include "runtime/build_name.h"

namespace millrace::runtime {

template <typename Archive>
void visit_fields(Archive& archive, RankOptions::Given& given) {
  archive(given.name, given.value);
}

std::vector<std::byte> told_options(const RankOptions& own) {
  ByteWriter bytes;
  bytes(build_key(), own.given);
  return bytes.take();
}

std::optional<std::string> other_options(const RankOptions& own, std::span<const std::byte> told) {
  std::string build;
  std::vector<RankOptions::Given> given;
  ByteReader reader(told);
  reader(build, given);
  if (!reader.ok() || reader.left() > 0 || build != build_key()) return "another build";
  std::map<std::string, std::uint64_t> others;
  for (const RankOptions::Given& option : given) others.emplace(option.name, option.value);
  for (const RankOptions::Given& option : own.given) {
    const auto other = others.find(option.name);
    if (other == others.end() || other->second != option.value) return fmt::format("another {}", option.name);
    others.erase(other);
  }
  // Only names that this program has can be there: the builds are the same.
  if (!others.empty()) return fmt::format("another {}", others.begin()->first.substr(0, 100));
  return std::nullopt;
}

}  // namespace millrace::runtime
