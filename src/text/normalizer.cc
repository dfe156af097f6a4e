#include "text/normalizer.h"

namespace millrace::text {
namespace {

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(MarkedText& text) const override {
    if (text.text().empty()) return;
    MarkedText out;
    out.append_trusted(prefix_);
    out.append(text, 0, text.text().size());
    text = std::move(out);
  }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::string pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    std::size_t at = bytes.find(pattern_);
    if (at == bytes.npos) return;
    MarkedText out;
    std::size_t done = 0;
    for (; at != bytes.npos; at = bytes.find(pattern_, done)) {
      out.append(text, done, at);
      done = at + pattern_.size();
      out.append(content_, text, at, done);
    }
    out.append(text, done, bytes.size());
    text = std::move(out);
  }

 private:
  std::string pattern_, content_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_prepend(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}

std::unique_ptr<const Normalizer> make_replace(std::string pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}

std::string normalized(const NormalizerList& normalizers, std::string_view text) {
  MarkedText marked;
  marked.append_trusted(text);
  for (const auto& normalizer : normalizers) normalizer->apply(marked);
  return std::string(marked.text());
}

}  // namespace millrace::text
