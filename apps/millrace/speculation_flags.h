#pragma once

#include "hub_access.h"
#include "runtime/speculation_config.h"

namespace CLI {
class App;
}

namespace millrace::app {

// The flags of how answers are speculated on. They fill the configuration, whose `model` is a reference until
// resolved_speculation() makes it a path.
void declare_speculation(CLI::App& app, runtime::SpeculationConfig& speculation);

// With the path of the draft model or heads: downloaded where need be, looked for only where the method takes any. A
// rule by its name of before has a line on stderr. Throws LoadError, also for values that are out of range.
runtime::SpeculationConfig resolved_speculation(const runtime::SpeculationConfig& speculation, const HubFlags& hub);

}  // namespace millrace::app
