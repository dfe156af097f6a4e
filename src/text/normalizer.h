#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/marked_text.h"

namespace millrace::text {

// Rewrites text before it is cut into words. Immutable and thread-safe; linear time, up to sorting combining marks.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(MarkedText& text) const = 0;
};
using NormalizerList = std::vector<std::unique_ptr<const Normalizer>>;

std::string normalized(const NormalizerList& normalizers, std::string_view text);

}  // namespace millrace::text
