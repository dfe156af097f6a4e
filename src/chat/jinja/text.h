#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/budget.h"

namespace millrace::chat::jinja {

// The bytes from the end of the previous run to `end` are all trusted or all untrusted.
struct TrustRun {
  std::size_t end;
  bool trusted;
};

// An immutable string of valid UTF-8 that records which of its characters are the template's (trusted) and which came
// from outside. Copies share memory. Comparison ignores trust.
class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted);

  std::string_view view() const noexcept { return rep_ ? std::string_view(rep_->bytes) : std::string_view(); }
  std::size_t size() const noexcept { return rep_ ? rep_->bytes.size() : 0; }
  bool empty() const noexcept { return size() == 0; }
  std::size_t length() const noexcept { return rep_ ? rep_->length : 0; }  // code points
  bool ascii() const noexcept { return length() == size(); }
  std::size_t run_count() const noexcept { return rep_ ? rep_->runs.size() : 0; }

  // Byte offset of a code point; size() if there are fewer. Linear unless the text is ASCII.
  std::size_t offset_of(std::size_t code_point) const;

  // Calls visit(bytes, trusted) for each part of equal trust within the bytes [from, to).
  template <typename Visit>
  void for_each_run(std::size_t from, std::size_t to, Visit visit) const {
    for (std::size_t i = first_run_after(from); from < to; ++i) {
      const TrustRun& run = rep_->runs[i];
      const std::size_t end = run.end < to ? run.end : to;
      visit(view().substr(from, end - from), run.trusted);
      from = end;
    }
  }

 private:
  friend class TextBuilder;
  struct Rep {
    std::string bytes;
    std::vector<TrustRun> runs;  // ends ascending, neighbours differ, the last end is bytes.size()
    std::size_t length;
  };
  Text(std::string bytes, std::vector<TrustRun> runs);
  std::size_t first_run_after(std::size_t offset) const;

  std::shared_ptr<const Rep> rep_;  // null when empty
};

// Builds a Text, and spends budget for each byte, within TemplateLimits::string_bytes or the given limit.
class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : TextBuilder(budget, "string_bytes", budget.limits().string_bytes) {}
  TextBuilder(Budget& budget, std::string_view limit_name, std::int64_t limit)
      : budget_(&budget), limit_name_(limit_name), limit_(static_cast<std::size_t>(limit)) {}

  void append(const Text& text) { append(text, 0, text.size()); }
  // The bytes [from, to), both at borders of characters.
  void append(const Text& text, std::size_t from, std::size_t to);
  void append(std::string_view bytes, bool trusted);

  std::size_t size() const noexcept { return bytes_.size(); }
  Text take();

 private:
  Budget* budget_;
  std::string_view limit_name_;
  std::size_t limit_;
  std::string bytes_;
  std::vector<TrustRun> runs_;
};

}  // namespace millrace::chat::jinja
