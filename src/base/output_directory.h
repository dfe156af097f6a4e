#pragma once

#include <string>

#include "base/result.h"

namespace millrace {

// A directory that only appears under its name when complete: files are made in PATH.tmp, which commit() renames.
// Without commit() the destructor removes it with all in it. One thread.
class OutputDirectory {
 public:
  // kInvalidArgument if there is something at `path`, or at PATH.tmp, which another process may be writing.
  static Result<OutputDirectory> create(const std::string& path);
  OutputDirectory(OutputDirectory&& other) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) = delete;
  ~OutputDirectory();

  // Where a file of that name is to be made.
  std::string file(const std::string& name) const { return temporary() + "/" + name; }
  // Makes a file with that content.
  Result<void> write(const std::string& name, const std::string& content) const;
  Result<void> commit();

 private:
  explicit OutputDirectory(std::string path) : path_(std::move(path)) {}
  std::string temporary() const { return path_ + ".tmp"; }

  std::string path_;  // empty: nothing is left to remove
};

}  // namespace millrace
