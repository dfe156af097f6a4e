#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/sampling_flags.h"

namespace millrace::app {

// How the reasoning before an answer is shown: grey text, one line that counts its words, or not at all.
enum class ThinkingView { kShow, kFold, kHide };
// What happens when the conversation has filled the context.
enum class OnContextFull { kAsk, kShift, kStop };

// Names of the values in flags and in /set; the order is that of the enumerators.
std::vector<std::string> thinking_views();
std::vector<std::string> context_full_choices();

// Settings of a chat, from flags and from /set.
struct ChatSettings {
  SamplingFlags sampling;
  std::string thinking;         // one of thinking_views(); empty: show
  std::string on_context_full;  // one of context_full_choices(); empty: ask on a terminal, else stop
  bool stats = false;           // a line of counts and times after each answer

  ThinkingView thinking_view() const;
  OnContextFull context_full(bool on_terminal) const;
};

std::vector<std::string> setting_names();  // that change_setting() takes
// Sets one by its name, with dashes or underscores. kInvalidArgument names the setting, the value and what is allowed;
// nothing is changed then.
Result<void> change_setting(ChatSettings& settings, std::string_view name, const std::string& value);
// Lines of "name value" of the settings; `now` is what answers are sampled with.
std::string list_settings(const ChatSettings& settings, const decode::SamplingParams& now);

}  // namespace millrace::app
