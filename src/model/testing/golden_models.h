#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::model {

// For tests: the models of tests/golden, of every family and of every format that others write, in a fixed order.
inline std::vector<std::filesystem::path> golden_models() {
  namespace fs = std::filesystem;
  std::vector<fs::path> all;
  for (const char* kind : {"families", "tiny", "gptq", "gptqmodel", "quantized", "gguf_types"}) {
    for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden" / kind)) {
      if (fs::exists(folder.path() / "config.json"))
        all.push_back(folder.path());
      else if (fs::exists(folder.path() / "model.gguf"))
        all.push_back(folder.path() / "model.gguf");
    }
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace millrace::model
