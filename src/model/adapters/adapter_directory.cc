#include "model/adapters/adapter_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace millrace::model {
namespace fs = std::filesystem;

Result<std::string> AdapterDirectory::inside(const std::string& path) const {
  if (path_.empty()) {
    return make_error(ErrorCode::kUnsupported, "lora_path",
                      "adapters are loaded while the server runs only from the directory that it was started with: "
                      "--lora-dir");
  }
  std::error_code failure;
  const fs::path around = fs::canonical(path_, failure);
  const fs::path found = failure ? fs::path() : fs::canonical(around / path, failure);
  const auto outside = std::mismatch(around.begin(), around.end(), found.begin(), found.end()).first != around.end();
  if (path.find('\0') != std::string::npos || failure || outside || found == around) {
    return make_error(failure ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument, "lora_path",
                      "lora_path names nothing inside the directory of --lora-dir");
  }
  return found.string();
}

std::optional<std::string> AdapterDirectory::find(const std::string& name) const {
  if (path_.empty() || name.empty() || name.find('\0') != std::string::npos || name.starts_with('/')) return {};
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string component = name.substr(at, end - at);
    if (component.empty() || component == "." || component == "..") return {};
    at = end + 1;
  }
  auto found = inside(name);
  if (!found) return {};
  std::error_code failure;
  const bool one_file = found->ends_with(".gguf") || found->ends_with(".safetensors");
  if (!fs::is_regular_file(one_file ? fs::path(*found) : fs::path(*found) / "adapter_config.json", failure)) return {};
  return *std::move(found);
}

}  // namespace millrace::model
