#pragma once

#include "hub_access.h"
#include "runtime/speculation_config.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Adds the flags of speculative decoding, stored in `speculation`, which must outlive the parser. Its `model` is a
// model reference; resolved_speculation() turns it into a path.
void declare_speculation(CLI::App& app, runtime::SpeculationConfig& speculation);

// Validates the configuration and replaces `model` by the path of the draft model or speculator, which is downloaded if
// necessary. `model` stays unchanged if the method needs none. Prints a warning on stderr for an old name of a
// verification rule. Throws LoadError naming the flag.
runtime::SpeculationConfig resolved_speculation(const runtime::SpeculationConfig& speculation, const HubFlags& hub);

}  // namespace millrace::app
