#include "text/text_assembler.h"

#include "text/unicode.h"

namespace millrace::text {
namespace {

// Moves the whole units at the front of `bytes` to `out`, invalid ones as U+FFFD.
void move_whole_units(std::string& bytes, std::string& out) {
  std::string_view left = bytes;
  while (!left.empty()) {
    const Utf8Unit unit = next_utf8_unit(left);
    if (unit.kind == Utf8Unit::Kind::kIncomplete) break;
    out.append(unit.kind == Utf8Unit::Kind::kCharacter ? left.substr(0, unit.size) : kReplacementCharacter);
    left.remove_prefix(unit.size);
  }
  bytes.erase(0, bytes.size() - left.size());
}

}  // namespace

void TextAssembler::flush_run() {
  if (run_.empty()) return;
  if (is_valid_utf8(run_)) {
    ready_.append(run_);
  } else {
    for (std::size_t i = 0; i < run_.size(); ++i) ready_.append(kReplacementCharacter);
  }
  run_.clear();
}

std::string TextAssembler::push(std::string_view bytes, bool byte_fallback) {
  if (byte_fallback) {
    run_.append(bytes);
    return {};
  }
  flush_run();
  pending_.append(bytes);
  move_whole_units(pending_, ready_);
  return take();
}

std::string TextAssembler::finish() {
  flush_run();
  if (!pending_.empty()) ready_.append(kReplacementCharacter);
  pending_.clear();
  return take();
}

std::string TextAssembler::take() {
  std::string out = std::move(ready_);
  ready_.clear();
  if (strip_ && !out.empty()) {
    if (out[0] == ' ') out.erase(0, 1);
    strip_ = false;
  }
  return out;
}

}  // namespace millrace::text
