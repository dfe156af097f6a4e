#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::app {

// Options and commands of llama.cpp, vLLM and ollama that millrace has under another name, or does without.

// How the command is typed that takes a model if nothing is said.
inline constexpr std::string_view kRun = "millrace run";

// What to write instead of the option `flag` ("-hf", "--gpu-layers"), in one clause. `command` is how the command is
// typed if its first argument is a model: "millrace serve"; empty: it takes none. Nothing: no other program is known to
// have that option.
std::optional<std::string> answer_to_foreign_option(std::string_view flag, std::string_view command);
// The command of millrace that does what another program's `word` does: "chat" -> "run". Empty: none is known.
std::string_view own_command(std::string_view word);

// Whether the parser would take the argument for "-h" with more letters and print the help: "-hf" of llama.cpp.
bool hides_behind_help(std::string_view argument);

}  // namespace millrace::app
