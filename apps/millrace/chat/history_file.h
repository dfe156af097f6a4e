#pragma once

#include <string>

namespace millrace::app {

// The file of lines that were typed, in libedit's format: read at the start, and appended to line by line, so that a
// killed program keeps them. Mode 0600. One thread.
class HistoryFile {
 public:
  // Reads the lines into libedit's history. The file may be absent; one that has grown long is shortened.
  explicit HistoryFile(std::string path);
  // The first failure is said on stderr in one line; lines that follow are not written.
  void append(const std::string& line);

 private:
  std::string path_;
  bool failed_ = false;
};

}  // namespace millrace::app
