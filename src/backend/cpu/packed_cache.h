#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/device_kind.h"
#include "base/env.h"
#include "base/output_file.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

// Keeps a model's packed weights in a file, so that the next start copies them instead of packing again. The file is
// named after the content of the model. It is written while weights are packed, and renamed to its final name when all
// are there. A file whose layout or checksum does not fit is ignored and written again. No failure is an error to the
// caller: it costs time and is logged.
// File: 64 bytes of header, the weights (each on a multiple of 64), a JSON directory, 32 bytes of footer.
class PackedCache {
 public:
  PackedCache(const PackedCacheConfig& config, Env& env);
  ~PackedCache();

  // Copies the weight packed under that name and layout to `out`, with several workers, and returns the checksums of
  // its parts (part_checksums.h), which are what was packed then. Nothing if it is not there.
  std::optional<std::vector<std::uint64_t>> read(const std::string& name, const std::string& layout,
                                                 std::span<std::byte> out, WorkerTeam& team);
  // Stores a weight for the next start, with the checksums of its parts.
  void add(const std::string& name, const std::string& layout, std::span<const std::byte> bytes,
           std::span<const std::uint64_t> checksums);
  // Call it after the last weight. Renames the file to its final name, and deletes the oldest files above the limit.
  void finish();

 private:
  struct Entry {
    std::string layout;
    std::uint64_t offset = 0, bytes = 0, checksum = 0;
  };

  void open_existing();
  bool parse_directory(std::span<const std::byte> json);
  bool start_writing();
  bool has_room(std::uint64_t so_far, std::uint64_t more) const;
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
