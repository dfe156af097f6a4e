#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chat/chat_settings.h"
#include "chat/responder.h"
#include "screen/markdown_stream.h"
#include "screen/status_line.h"

namespace millrace::app {

// Shows one answer on stdout as it comes: rendered on a terminal, elsewhere the text alone, as it is. Progress of a
// long prompt and folded reasoning are a line on stderr that goes away. One thread.
class AnswerView final : public AnswerListener {
 public:
  // `interrupted` is asked before each step.
  AnswerView(ThinkingView thinking, std::function<bool()> interrupted);

  void on_prompt(std::int64_t done, std::int64_t total) override;
  void on_part(const chat::PartEvent& part) override;
  bool interrupted() override { return interrupted_(); }
  // Ends the answer's last line; where there is no answer but an error, only what is begun.
  void finish(bool answered = true);

 private:
  void think(const std::string& text);
  void end_thinking();

  const screen::Look look_;
  const ThinkingView thinking_;
  std::function<bool()> interrupted_;
  screen::StatusLine status_;
  screen::WordWrap wrap_;
  screen::MarkdownStream markdown_;
  bool thought_ = false, shown_ = false;  // reasoning came; a part of the answer was shown
  std::int64_t words_ = 0;                // of reasoning
};

// Prints a line in grey to stderr, where that is a terminal with styles; elsewhere as it is.
void print_dim(const std::string& text);

}  // namespace millrace::app
