#pragma once

#include <optional>

namespace CLI {
class App;
}

namespace millrace::app {

// To be called when the options of `parent` and of the command below it that was selected are known, and before the
// command does anything: where they ask for ranks over MPI, joins them. The exit code where this process is a rank that
// has followed to the end; nothing: go on. Throws LoadError as runtime::join_mpi() does.
std::optional<int> follow_as_rank(const CLI::App& parent);

}  // namespace millrace::app
