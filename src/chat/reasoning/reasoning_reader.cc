#include "chat/reasoning/reasoning_reader.h"

#include <algorithm>
#include <utility>

#include "chat/white_space.h"

namespace millrace::chat::reasoning {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

ReasoningReader::ReasoningReader(const ReasoningFormat& format, bool begun, PartWriter& writer)
    : writer_(writer),
      close_({std::string(format.close)}),
      answer_close_({"\n" + std::string(format.answer_close), std::string(format.answer_close)}),
      open_(format.open),
      answer_open_(format.answer_open),
      repeats_(begun) {
  if (begun) state_ = State::kThinking;
}

void ReasoningReader::push(std::string_view text, std::string& rest) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (state_ == State::kRest) {
      rest += text.substr(i);
      return;
    }
    take(text[i], rest);
  }
}

void ReasoningReader::take(char byte, std::string& rest) {
  switch (state_) {
    case State::kStart: {
      begun_ += byte;
      const std::size_t first = begun_.find_first_not_of(kBlanks);
      if (first == std::string::npos) return;
      const std::string_view word = std::string_view(begun_).substr(first);
      if (word == open_ && !thought_) {
        begun_.clear();
        state_ = State::kThinking;
      } else if (word == answer_open_) {
        begun_.clear();
        state_ = State::kBeforeAnswer;
      } else if ((thought_ || !open_.starts_with(word)) && !answer_open_.starts_with(word)) {
        rest += thought_ ? word : begun_;
        begun_.clear();
        state_ = State::kRest;
      }
      return;
    }
    case State::kThinking: {
      std::string text;
      const bool ends = close_.push(byte, text) >= 0;
      think(text);
      if (!ends) return;
      if (std::exchange(repeats_, false)) think(std::exchange(begun_, {}));
      space_.clear();
      thought_ = true;
      state_ = State::kStart;
      return;
    }
    case State::kBeforeAnswer:
      state_ = State::kAnswer;
      if (byte == '\n') return;
      [[fallthrough]];
    case State::kAnswer:
      if (answer_close_.push(byte, rest) >= 0) state_ = State::kAfterAnswer;
      return;
    case State::kAfterAnswer:
      if (is_space(byte)) return;
      state_ = State::kRest;
      [[fallthrough]];
    case State::kRest: rest += byte; return;
  }
}

void ReasoningReader::think(std::string_view text) {
  for (const char byte : text) {
    if (repeats_) {  // a model that writes the tag which the prompt has
      begun_ += byte;
      const std::size_t first = begun_.find_first_not_of(kBlanks);
      if (first == std::string::npos) continue;
      const std::string_view word = std::string_view(begun_).substr(first);
      if (word != open_ && open_.starts_with(word)) continue;
      repeats_ = false;
      const std::string taken = std::exchange(begun_, {});
      if (taken.substr(first) != open_) think(taken);
      continue;
    }
    if (is_space(byte)) {
      if (any_) space_ += byte;
      continue;
    }
    any_ = true;
    space_ += byte;
    writer_.reasoning(std::exchange(space_, {}));
  }
}

void ReasoningReader::finish(std::string& rest) {
  if (state_ == State::kStart) {
    const std::size_t first = thought_ ? begun_.find_first_not_of(kBlanks) : 0;
    rest += begun_.substr(std::min(first, begun_.size()));
  }
  if (state_ == State::kAnswer) rest += answer_close_.finish();
  if (state_ != State::kThinking) return;
  const std::string held = close_.finish();
  if (repeats_) {
    repeats_ = false;
    think(std::exchange(begun_, {}));
  }
  think(held);
}

}  // namespace millrace::chat::reasoning
