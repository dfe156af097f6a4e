#include "chat/jinja/text.h"

#include <algorithm>

namespace millrace::chat::jinja {
namespace {

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::size_t count_characters(std::string_view bytes) {
  return static_cast<std::size_t>(std::count_if(bytes.begin(), bytes.end(), starts_character));
}

}  // namespace

Text::Text(std::string bytes, bool trusted) {
  if (bytes.empty()) return;
  const std::size_t size = bytes.size();
  const std::size_t length = count_characters(bytes);
  rep_ = std::make_shared<const Rep>(Rep{std::move(bytes), {{size, trusted}}, length});
}

Text::Text(std::string bytes, std::vector<TrustRun> runs) {
  if (bytes.empty()) return;
  const std::size_t length = count_characters(bytes);
  rep_ = std::make_shared<const Rep>(Rep{std::move(bytes), std::move(runs), length});
}

std::size_t Text::offset_of(std::size_t code_point) const {
  if (code_point >= length()) return size();
  if (ascii()) return code_point;
  const std::string_view bytes = view();
  std::size_t offset = 0;
  for (std::size_t seen = 0; seen < code_point; ++seen) {
    do ++offset;
    while (!starts_character(bytes[offset]));
  }
  return offset;
}

std::size_t Text::first_run_after(std::size_t offset) const {
  if (!rep_) return 0;
  const auto& runs = rep_->runs;
  const auto after = [](std::size_t value, const TrustRun& run) { return value < run.end; };
  return static_cast<std::size_t>(std::upper_bound(runs.begin(), runs.end(), offset, after) - runs.begin());
}

void TextBuilder::append(const Text& text, std::size_t from, std::size_t to) {
  text.for_each_run(from, to, [this](std::string_view bytes, bool trusted) { append(bytes, trusted); });
}

void TextBuilder::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes.size() > limit_ - bytes_.size()) fail("a text exceeds the limit of {} bytes ({})", limit_, limit_name_);
  budget_->copy(bytes.size());
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().trusted == trusted) {
    runs_.back().end = bytes_.size();
  } else {
    if (runs_.size() % 16 == 15) budget_->step();
    runs_.push_back({bytes_.size(), trusted});
  }
}

Text TextBuilder::take() { return Text(std::exchange(bytes_, {}), std::exchange(runs_, {})); }

}  // namespace millrace::chat::jinja
