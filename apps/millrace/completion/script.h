#pragma once

#include <string>

namespace CLI {
class App;
}

namespace millrace::app::completion {

// Scripts that complete commands, options, listed values and names of models in a shell, made from the parser `root`
// itself. Names of models are asked for when they are completed (`millrace list --names`); .gguf files and directories
// are offered beside them. The scripts print nothing when they are loaded.

std::string bash_script(const CLI::App& root);
std::string zsh_script(const CLI::App& root);  // as a file _millrace in $fpath, or sourced
std::string fish_script(const CLI::App& root);

}  // namespace millrace::app::completion
