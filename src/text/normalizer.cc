#include "text/normalizer.h"

namespace millrace::text {

std::string normalized(const NormalizerList& normalizers, std::string_view text) {
  const TextPiece piece{std::string(text), true};
  MarkedText marked(std::span(&piece, 1));
  for (const auto& normalizer : normalizers) normalizer->apply(marked);
  return std::string(marked.text());
}

}  // namespace millrace::text
