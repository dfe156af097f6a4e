#include "bench/load/scratch_folder.h"

#include <stdlib.h>

#include <filesystem>

#include "base/error.h"

namespace millrace::bench {

ScratchFolder::ScratchFolder() : path_((std::filesystem::temp_directory_path() / "millrace-bench-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw_load_error(ErrorCode::kResourceExhausted, "spawn", "{}: cannot be made", path_);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace millrace::bench
