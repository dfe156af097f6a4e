#pragma once

#include <cstdint>
#include <string>

namespace millrace::hub {

// Receives the progress of a pull, and can stop it. Called from several threads.
class PullObserver {
 public:
  virtual ~PullObserver() = default;
  // Called once, when the files to fetch are known. `present_bytes` of `total_bytes` are on the disk already.
  virtual void planned(const std::string& what, std::uint64_t total_bytes, std::uint64_t present_bytes) = 0;
  // Bytes have arrived; negative if a server made a file start again.
  virtual void advanced(std::int64_t bytes) = 0;
  virtual void finished(const std::string& file, std::uint64_t bytes) = 0;
  // A message for the user: a wait, a retry, another process.
  virtual void note(const std::string& text) = 0;
  virtual bool cancelled() const = 0;
};

}  // namespace millrace::hub
