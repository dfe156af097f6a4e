#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::model {

// A directory whose inside adapters may be read from. Neither ".." nor symbolic links lead out of it. Any thread.
class AdapterDirectory {
 public:
  AdapterDirectory() = default;  // none
  explicit AdapterDirectory(std::string path) : path_(std::move(path)) {}

  // The real path of `path`, which is relative to the directory, or inside it. kUnsupported where there is none;
  // kNotFound or kInvalidArgument naming lora_path for a path that leads nowhere, or out.
  Result<std::string> inside(const std::string& path) const;
  // The real path of the adapter that a request calls by that name, a path below the directory, of plain components: a
  // directory with an adapter's configuration, or the file NAME.gguf or NAME.safetensors. Nothing where there is none;
  // kInvalidArgument naming lora_name where there are several.
  Result<std::optional<std::string>> find(const std::string& name) const;

 private:
  std::string path_;  // empty: none
};

}  // namespace millrace::model
