#pragma once

#include <string>

namespace millrace::bench {

// A new temporary folder, removed with its contents by the destructor.
class ScratchFolder {
 public:
  ScratchFolder();  // throws LoadError if it cannot be created
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace millrace::bench
