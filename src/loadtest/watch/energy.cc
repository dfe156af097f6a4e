#include "loadtest/watch/energy.h"

#include <fmt/core.h>

#include <fstream>

namespace millrace::loadtest {

std::optional<double> package_energy_joules() {
  constexpr int kMaxPackages = 16;
  std::optional<double> joules;
  for (int package = 0; package < kMaxPackages; ++package) {
    std::ifstream file(fmt::format("/sys/class/powercap/intel-rapl:{}/energy_uj", package));
    double microjoules = 0.0;
    if (file >> microjoules) joules = joules.value_or(0.0) + microjoules * 1e-6;
  }
  return joules;
}

}  // namespace millrace::loadtest
