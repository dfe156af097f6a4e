#include "base/output_directory.h"

#include <filesystem>
#include <utility>

#include "base/output_file.h"

namespace millrace {

namespace fs = std::filesystem;

Result<OutputDirectory> OutputDirectory::create(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  std::error_code error;
  if (fs::symlink_status(name, error).type() != fs::file_type::not_found) {
    return make_error(ErrorCode::kInvalidArgument, "out", "out is '{}': there is something of that name", path);
  }
  error.clear();
  if (!fs::create_directory(name + ".tmp", error)) {
    return make_error(ErrorCode::kInvalidArgument, "out", "out is '{}': {}.tmp cannot be made: {}", path, name,
                      error ? error.message() : "it is there already");
  }
  return OutputDirectory(name);
}

OutputDirectory::OutputDirectory(OutputDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

OutputDirectory::~OutputDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary(), ignored);
}

Result<void> OutputDirectory::write(const std::string& name, const std::string& content) const {
  auto made = OutputFile::create(file(name));
  if (!made) return made.error();
  if (auto written = made->write(std::as_bytes(std::span(content))); !written) return written;
  return made->commit();
}

Result<void> OutputDirectory::commit() {
  std::error_code error;
  fs::rename(temporary(), path_, error);
  if (error) {
    return make_error(ErrorCode::kInvalidArgument, "out", "out is '{}': {}", path_, error.message());
  }
  path_.clear();
  return {};
}

}  // namespace millrace
