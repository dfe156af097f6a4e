#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kv/disk_index.h"
#include "kv/disk_segment.h"

namespace millrace::kv {

// The segments of a disk tier, and where each page lies in them. One thread at a time.
class SegmentSet {
 public:
  struct Place {
    std::shared_ptr<RandomAccessFile> file;
    std::uint64_t offset = 0;
  };

  SegmentSet(Env& env, std::string directory, const SegmentHeader& header)
      : env_(env), directory_(std::move(directory)), header_(header) {}

  // Reads the directory. Segments whose size is that in the index file are not scanned.
  void open();
  std::string path_of(std::uint64_t number) const;
  std::string index_path() const { return directory_ + "/index"; }

  bool contains(const PageKey& key) const {
    const auto at = places_.find(key);
    return at != places_.end() && !at->second.hidden;
  }
  std::optional<Place> find(const PageKey& key);  // also makes the page's segment the most recently used one
  void hide(const PageKey& key);                  // the page is damaged or wrong: it is not found until it is put again
  void hide_all() noexcept {
    for (auto& [key, place] : places_) place.hidden = true;
  }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::size_t pages() const noexcept { return places_.size(); }
  std::size_t segments() const noexcept { return segments_.size(); }
  // Segments of another model, page size or version that open() found. They are dropped before all others.
  std::size_t foreign_segments() const noexcept { return foreign_; }
  // Above every number that an index file may have.
  std::uint64_t next_number() const noexcept { return last_number_ + 1; }
  void add_segment(std::uint64_t number, std::shared_ptr<RandomAccessFile> file);
  void add_page(std::uint64_t number, const DiskPage& page);
  // Forgets the least recently used segment other than `keep`, and its pages. Returns its number; the caller deletes
  // its file.
  std::optional<std::uint64_t> drop_one(std::uint64_t keep);
  // Forgets the segment that holds the page. Returns its number; the caller deletes its file.
  std::optional<std::uint64_t> drop_segment_of(const PageKey& key);
  // Forgets a segment of this model; nothing if there is none. Returns its number; the caller deletes its file.
  std::optional<std::uint64_t> drop_own();
  std::string encoded_index() const;

 private:
  struct Segment {
    std::shared_ptr<RandomAccessFile> file;
    std::uint64_t bytes = 0, last_used = 0;
    std::vector<DiskPage> pages;
  };
  struct Located {
    std::uint64_t segment = 0, offset = 0;
    bool hidden = false;
  };
  struct KeyHash {
    std::size_t operator()(const PageKey& key) const noexcept {
      std::size_t hash;
      std::memcpy(&hash, key.data(), sizeof(hash));
      return hash;
    }
  };

  void insert(std::uint64_t number, Segment segment);
  std::uint64_t drop(std::map<std::uint64_t, Segment>::iterator segment);

  Env& env_;
  std::string directory_;
  SegmentHeader header_;
  std::map<std::uint64_t, Segment> segments_;
  std::unordered_map<PageKey, Located, KeyHash> places_;
  std::uint64_t bytes_ = 0, uses_ = 0, last_number_ = 0;
  std::size_t foreign_ = 0;
};

}  // namespace millrace::kv
