#include "chat/answer_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "unicode/code_points.h"

namespace millrace::app {
namespace {

constexpr std::int64_t kLongPrompt = 512;  // tokens from which on progress is shown

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

AnswerView::AnswerView(ThinkingView thinking, std::function<bool()> interrupted)
    : look_(screen::look_of(1)),
      thinking_(thinking),
      interrupted_(std::move(interrupted)),
      wrap_(write_out, look_.columns, look_.styles),
      markdown_(wrap_, look_) {}

void AnswerView::on_prompt(std::int64_t done, std::int64_t total) {
  if (total >= kLongPrompt && done < total) {
    status_.show(fmt::format("reading the prompt: {} of {} tokens", done, total));
  } else {
    status_.clear();
  }
}

void AnswerView::think(const std::string& text) {
  thought_ = true;
  if (thinking_ == ThinkingView::kHide) return;
  if (thinking_ == ThinkingView::kFold || !look_.terminal) {
    words_ += std::ranges::count(text, ' ');
    if (look_.terminal) status_.show(fmt::format("thinking: {} words", words_));
    if (thinking_ == ThinkingView::kShow) write_out(text);
    return;
  }
  status_.clear();
  screen::StyledText grey;
  screen::append(grey, text, screen::kDim);
  wrap_.put(grey);
}

void AnswerView::end_thinking() {
  if (!thought_) return;
  thought_ = false;
  status_.clear();
  if (thinking_ == ThinkingView::kHide) return;
  if (thinking_ == ThinkingView::kFold && look_.terminal) {
    screen::StyledText line;
    screen::append(line, fmt::format("[thought {} words; /show thinking]", words_ + 1), screen::kDim);
    wrap_.put(line);
  }
  if (look_.terminal) {
    wrap_.put('\n');
    wrap_.put('\n');
    wrap_.flush();
  } else if (thinking_ == ThinkingView::kShow) {
    write_out("\n\n");
  }
}

void AnswerView::on_part(const chat::PartEvent& part) {
  if (part.kind == chat::PartEvent::Kind::kReasoning) return think(part.text);
  if (part.kind != chat::PartEvent::Kind::kContent || part.text.empty()) return;
  status_.clear();
  end_thinking();
  shown_ = true;
  if (look_.terminal) {
    markdown_.push(part.text);
  } else {
    write_out(part.text);
  }
}

void AnswerView::finish(bool answered) {
  status_.clear();
  end_thinking();
  markdown_.finish();
  if (answered || shown_ || thought_) write_out("\n");
}

void print_dim(const std::string& text) {
  const bool styles = screen::look_of(2).styles;
  std::fprintf(stderr, styles ? "\x1b[2m%s\x1b[0m\n" : "%s\n", text.c_str());
}

}  // namespace millrace::app
