#include "model/adapters/adapter_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace millrace::model {
namespace fs = std::filesystem;

namespace {

constexpr const char* kMarker = "adapter_config.json";

// Whether no component of the path means another place.
bool is_plain(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos || name.starts_with('/')) return false;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string component = name.substr(at, end - at);
    if (component.empty() || component == "." || component == "..") return false;
    at = end + 1;
  }
  return true;
}

// A directory of PEFT, whose weights are no adapter of their own, or a file.
bool is_adapter(const fs::path& path) {
  std::error_code failure;
  if (path.extension() != ".gguf" && path.extension() != ".safetensors") {
    return fs::is_regular_file(path / kMarker, failure);
  }
  if (path.filename() == "adapter_model.safetensors" && fs::exists(path.parent_path() / kMarker, failure)) return false;
  return fs::is_regular_file(path, failure);
}

}  // namespace

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

Result<std::optional<std::string>> AdapterDirectory::find(const std::string& name) const {
  std::optional<std::string> only;
  if (path_.empty() || !is_plain(name)) return only;
  std::string first;
  for (const std::string& entry : {name, name + ".gguf", name + ".safetensors"}) {
    auto found = inside(entry);
    if (!found || !is_adapter(*found)) continue;
    if (only) {
      return make_error(ErrorCode::kInvalidArgument, "lora_name",
                        "the name {} stands for both {} and {} inside the directory of --lora-dir: rename one of them",
                        name, first, entry);
    }
    only = *std::move(found);
    first = entry;
  }
  return only;
}

}  // namespace millrace::model
