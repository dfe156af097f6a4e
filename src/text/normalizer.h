#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/marked_text.h"

namespace millrace::text {

// Rewrites text before it is cut into words. Immutable and thread-safe; linear time.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(MarkedText& text) const = 0;
};
using NormalizerList = std::vector<std::unique_ptr<const Normalizer>>;

// Unicode normalization form C (UAX #15).
std::unique_ptr<const Normalizer> make_nfc();
// Puts `prefix` before a text that is not empty.
std::unique_ptr<const Normalizer> make_prepend(std::string prefix);
// Every `pattern` (not empty) becomes `content`.
std::unique_ptr<const Normalizer> make_replace(std::string pattern, std::string content);

std::string normalized(const NormalizerList& normalizers, std::string_view text);

}  // namespace millrace::text
