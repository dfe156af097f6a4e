#include "unicode/utf8_assembler.h"

#include "unicode/code_points.h"

namespace millrace::unicode {

std::string Utf8Assembler::push(std::string_view bytes) {
  pending_.append(bytes);
  std::string out;
  std::string_view left = pending_;
  while (!left.empty()) {
    const Utf8Unit unit = next_utf8_unit(left);
    if (unit.kind == Utf8Unit::Kind::kIncomplete) break;
    out.append(unit.kind == Utf8Unit::Kind::kCharacter ? left.substr(0, unit.size) : kReplacementCharacter);
    left.remove_prefix(unit.size);
  }
  pending_.erase(0, pending_.size() - left.size());
  return out;
}

std::string Utf8Assembler::finish() {
  if (pending_.empty()) return {};
  pending_.clear();
  return std::string(kReplacementCharacter);
}

}  // namespace millrace::unicode
