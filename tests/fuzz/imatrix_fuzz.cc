// Any bytes as an importance matrix, in either form: read or refused in one line, and every value that is read is a
// number from 0 on.

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/memory_env.h"
#include "checkpoint/importance_matrix.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  MemoryEnv env;
  env.files["m.imatrix"].assign(reinterpret_cast<const char*>(data), size);
  const auto matrix = checkpoint::read_importance_matrix(env, "m.imatrix");
  if (!matrix) {
    if (matrix.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  std::size_t values = 0;
  for (const auto& [name, means] : (*matrix).means) {
    values += means.size();
    for (const float mean : means) {
      if (!std::isfinite(mean) || mean < 0.0f) std::abort();
    }
  }
  if (values == 0 || values > size) std::abort();
  return 0;
}
