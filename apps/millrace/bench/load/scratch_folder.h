#pragma once

#include <string>

namespace millrace::bench {

// A new folder in the system's temporary directory. The destructor deletes it with all its files.
class ScratchFolder {
 public:
  ScratchFolder();  // throws LoadError (kResourceExhausted) if it cannot be created
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace millrace::bench
