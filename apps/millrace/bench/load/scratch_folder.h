#pragma once

#include <string>

namespace millrace::bench {

// A new folder among the system's temporary ones; goes with all that is in it when this does.
class ScratchFolder {
 public:
  ScratchFolder();  // throws LoadError where none can be made
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace millrace::bench
