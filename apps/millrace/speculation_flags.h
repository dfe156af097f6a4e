#pragma once

#include "hub_access.h"
#include "runtime/speculation_config.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Declares the flags of speculation. They set `speculation`, whose `model` is a reference until resolved_speculation()
// makes it a path.
void declare_speculation(CLI::App& app, runtime::SpeculationConfig& speculation);

// The configuration with the path of the draft model or speculator, downloaded if needed; ignored if the method uses
// none. Warns on stderr for a rule's old name. Throws LoadError, also for values out of range.
runtime::SpeculationConfig resolved_speculation(const runtime::SpeculationConfig& speculation, const HubFlags& hub);

}  // namespace millrace::app
