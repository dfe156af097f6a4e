#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace millrace::app {

// Declares the flags of `eval`, which `perplexity`, its old name, shares.
std::function<int()> configure_evaluation(CLI::App& app);

}  // namespace millrace::app
