#pragma once

#include <optional>

namespace millrace::loadtest {

// Energy counter of this machine's processor packages in joules (RAPL, powercap); only differences have a meaning.
// Nothing if the system has no such counters or they are not readable. It wraps after hours: a negative difference is
// invalid.
std::optional<double> package_energy_joules();

}  // namespace millrace::loadtest
