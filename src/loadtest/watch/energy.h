#pragma once

#include <optional>

namespace millrace::loadtest {

// What the processor packages of this machine have used since some moment, by RAPL (powercap); none where the system
// has no such counters or they are not ours to read. Wraps after hours: a difference below 0 says nothing.
std::optional<double> package_energy_joules();

}  // namespace millrace::loadtest
