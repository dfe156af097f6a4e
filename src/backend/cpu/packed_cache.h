#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backend/device_kind.h"
#include "base/env.h"
#include "base/output_file.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

// Packed weights of one model, kept in a file from one start to the next: reading them back is a matter of copying. The
// file is named after the model's content, written while the weights are packed and put in place when all are; one that
// does not fit in layout or checksum is passed over and written anew. Nothing here is an error to a caller: without the
// file everything takes longer, and the log says why.
//
// File: 64 bytes of header, the weights (each on a multiple of 64), a JSON directory, 32 bytes of footer.
class PackedCache {
 public:
  PackedCache(const PackedCacheConfig& config, Env& env);
  ~PackedCache();

  // Fills `out` with the weight as it was packed under that name in that layout; several workers read. False if it is
  // not there.
  bool read(const std::string& name, const std::string& layout, std::span<std::byte> out, WorkerTeam& team);
  // Keeps a weight for the next start.
  void add(const std::string& name, const std::string& layout, std::span<const std::byte> bytes);
  // After the last weight: puts the file in place and removes the oldest files above the limit.
  void finish();

 private:
  struct Entry {
    std::string layout;
    std::uint64_t offset = 0, bytes = 0, checksum = 0;
  };

  void open_existing();
  bool parse_directory(std::span<const std::byte> json);
  bool start_writing();
  void give_up(std::string_view why);
  void remove_oldest() const;

  PackedCacheConfig config_;
  Env& env_;
  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;  // what an earlier start left
  std::map<std::string, Entry> entries_;    // of file_, or of output_
  std::optional<OutputFile> output_;
  bool off_ = false;  // nothing is written in this start
};

}  // namespace millrace::backend::cpu
