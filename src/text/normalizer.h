#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/marked_text.h"

namespace millrace::text {

// Rewrites text before it is split into words. Immutable and thread-safe; linear time, but for sorting combining marks.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(MarkedText& text) const = 0;
};
using NormalizerList = std::vector<std::unique_ptr<const Normalizer>>;

std::string normalized(const NormalizerList& normalizers, std::string_view text);

}  // namespace millrace::text
