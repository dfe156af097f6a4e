#include "text/bpe/named_merges.h"

#include <fmt/format.h>

namespace millrace::text {

void NamedMerges::add(std::string_view left, std::string_view right, std::string_view prefix) {
  const std::string_view tail = right.starts_with(prefix) ? right.substr(prefix.size()) : right;
  whole_.assign(left).append(tail);
  const TokenId a = parts_.find(left), b = parts_.find(right), result = parts_.find(whole_);
  if (a < 0 || b < 0 || result < 0) {
    const std::string where = fmt::format("{}{}{}", before_, rank_, after_);
    throw_load_error(ErrorCode::kBadFile, where, "{} is \"{} {}\": \"{}\" is not in the vocabulary", where, left, right,
                     a < 0   ? left
                     : b < 0 ? right
                             : std::string_view(whole_));
  }
  merges_.insert(a, b, {rank_++, result});
}

}  // namespace millrace::text
