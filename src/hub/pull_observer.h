#pragma once

#include <cstdint>
#include <string>

namespace millrace::hub {

// What a pull tells of itself while it runs, and how it is stopped. Called from several threads.
class PullObserver {
 public:
  virtual ~PullObserver() = default;
  // Once, when it is known what to fetch. `present_bytes` of them are on the disk already.
  virtual void planned(const std::string& what, std::uint64_t total_bytes, std::uint64_t present_bytes) = 0;
  // Bytes that arrived; negative where a server made a file start again.
  virtual void advanced(std::int64_t bytes) = 0;
  virtual void finished(const std::string& file, std::uint64_t bytes) = 0;
  // Something the user may wonder about: a wait, a retry, another process.
  virtual void note(const std::string& text) = 0;
  virtual bool cancelled() const = 0;
};

}  // namespace millrace::hub
