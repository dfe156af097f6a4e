#include "backend/cpu/packed_cache.h"

#include <fmt/format.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "backend/cpu/part_checksums.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/readable_bytes.h"

namespace millrace::backend::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'M', 'R', 'P', 'A', 'C', 'K', '0', '3'};
constexpr std::string_view kSuffix = ".packed";
constexpr std::uint64_t kHeaderBytes = 64, kAlignment = 64;
constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{64} << 20;
// Left free on the disk, whatever the limit says.
constexpr std::uint64_t kFreeReserve = std::uint64_t{2} << 30;

struct Footer {
  std::uint64_t directory_offset, directory_bytes, directory_checksum;
  std::array<char, 8> magic;
};
static_assert(sizeof(Footer) == 32);

std::uint64_t combine(std::span<const std::uint64_t> parts) { return checksum(std::as_bytes(parts)); }

}  // namespace

PackedCache::PackedCache(const PackedCacheConfig& config, Env& env)
    : config_(config), env_(env), path_(fmt::format("{}/{:016x}{}", config.directory, config.model_key, kSuffix)) {
  open_existing();
}

PackedCache::~PackedCache() = default;

void PackedCache::open_existing() {
  auto file = env_.open(path_);
  if (!file) return;
  Footer footer;
  const std::uint64_t size = (*file)->size();
  std::vector<std::byte> json;
  if (size >= kHeaderBytes + sizeof(footer) &&
      (*file)->read(size - sizeof(footer), std::as_writable_bytes(std::span(&footer, 1))) && footer.magic == kMagic &&
      footer.directory_bytes <= kMaxDirectoryBytes && footer.directory_bytes <= size - sizeof(footer) &&
      footer.directory_offset == size - sizeof(footer) - footer.directory_bytes) {
    json.resize(footer.directory_bytes);
    if ((*file)->read(footer.directory_offset, json) && checksum(json) == footer.directory_checksum &&
        parse_directory(json)) {
      file_ = *std::move(file);
      // The time of change is that of the last use: what remove_oldest goes by.
      ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
      return;
    }
  }
  entries_.clear();
  log::warn("{}: not a whole file of packed weights; it is written anew", path_);
}

bool PackedCache::parse_directory(std::span<const std::byte> json) {
  const auto* begin = reinterpret_cast<const char*>(json.data());
  const auto tree = nlohmann::json::parse(begin, begin + json.size(), nullptr, false);
  if (!tree.is_array()) return false;
  try {
    for (const auto& node : tree) {
      entries_.emplace(node.at("name").get<std::string>(),
                       Entry{node.at("layout").get<std::string>(), node.at("offset").get<std::uint64_t>(),
                             node.at("bytes").get<std::uint64_t>(), node.at("checksum").get<std::uint64_t>()});
    }
    return true;
  } catch (const nlohmann::json::exception&) {  // whole, and not ours
    return false;
  }
}

std::optional<std::vector<std::uint64_t>> PackedCache::read(const std::string& name, const std::string& layout,
                                                            std::span<std::byte> out, WorkerTeam& team) {
  if (file_ == nullptr) return std::nullopt;
  const auto it = entries_.find(name);
  if (it == entries_.end() || it->second.layout != layout || it->second.bytes != out.size()) {
    give_up("it has another layout");
    return std::nullopt;
  }
  const Entry& entry = it->second;
  std::vector<std::uint64_t> parts(count_parts(out.size()));
  team.split(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const std::span<std::byte> part = part_of(out, i);
      parts[i] = file_->read(entry.offset + i * kPartBytes, part) ? part_checksum(part) : ~entry.checksum;
    }
  });
  if (combine(parts) == entry.checksum) return parts;
  give_up(fmt::format("weight {} is damaged", name));
  return std::nullopt;
}

// From here on every weight is packed from its source; the next start writes the file anew.
void PackedCache::give_up(std::string_view why) {
  log::warn("{}: {}; the file is removed", path_, why);
  std::error_code ignored;
  fs::remove(path_, ignored);
  file_.reset();
  off_ = true;
}

bool PackedCache::start_writing() {
  std::error_code failed;
  fs::create_directories(config_.directory, failed);
  if (!has_room(0, config_.expected_bytes)) return false;
  auto output = OutputFile::create(path_);
  if (!output || !output->write(std::as_bytes(std::span(kMagic))) ||
      !output->write_zeros(kHeaderBytes - kMagic.size())) {
    log::warn("packed weights are not kept: {}", output ? "write failed" : output.error().message);
    return false;
  }
  output_.emplace(*std::move(output));
  return true;
}

bool PackedCache::has_room(std::uint64_t so_far, std::uint64_t more) const {
  std::error_code failed;
  const fs::space_info space = fs::space(config_.directory, failed);
  if (!failed && space.available >= more + kFreeReserve && so_far + more <= config_.limit_bytes) return true;
  log::warn("packed weights are not kept: {} of the {} that {} may have are needed, and {} must stay free of {}",
            readable_bytes(so_far + more), readable_bytes(config_.limit_bytes), config_.directory,
            readable_bytes(kFreeReserve), readable_bytes(failed ? 0 : space.available));
  return false;
}

void PackedCache::add(const std::string& name, const std::string& layout, std::span<const std::byte> bytes,
                      std::span<const std::uint64_t> checksums) {
  if (off_) return;
  if (!output_ && !start_writing()) {
    off_ = true;
    return;
  }
  if (!has_room(output_->position(), bytes.size())) {
    output_.reset();
    off_ = true;
    return;
  }
  const Entry entry{layout, output_->position(), bytes.size(), combine(checksums)};
  if (!output_->write(bytes) || !output_->write_zeros((kAlignment - bytes.size() % kAlignment) % kAlignment)) {
    log::warn("packed weights are not kept: {} cannot be written", path_);
    output_.reset();
    off_ = true;
    return;
  }
  entries_[name] = entry;
}

void PackedCache::finish() {
  if (!output_) return;
  nlohmann::json tree = nlohmann::json::array();
  for (const auto& [name, entry] : entries_) {
    tree.push_back({{"name", name},
                    {"layout", entry.layout},
                    {"offset", entry.offset},
                    {"bytes", entry.bytes},
                    {"checksum", entry.checksum}});
  }
  const std::string json = tree.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Footer footer{output_->position(), json.size(), checksum(json), kMagic};
  // Not durable: after a power cut the checksums find what is missing.
  if (!output_->write(std::as_bytes(std::span(json.data(), json.size()))) ||
      !output_->write(std::as_bytes(std::span(&footer, 1))) || !output_->commit(false)) {
    log::warn("packed weights are not kept: {} cannot be written", path_);
  }
  output_.reset();
  remove_oldest();
}

void PackedCache::remove_oldest() const {
  struct File {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t bytes;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  const auto of_another_version = [&](const std::string& path) {
    std::array<char, 8> magic{};
    auto file = env_.open(path);
    return file && (*file)->size() > kHeaderBytes && (*file)->read(0, std::as_writable_bytes(std::span(magic))) &&
           magic != kMagic;
  };
  for (const std::string& name : env_.list(config_.directory)) {
    // A start that was killed leaves an unfinished one; it is not touched any more, so it is among the oldest soon.
    if (!name.ends_with(kSuffix) && !name.ends_with(std::string(kSuffix) + ".tmp")) continue;
    std::error_code failed;
    File file{fs::path(config_.directory) / name, {}, 0};
    file.used = fs::last_write_time(file.path, failed);
    if (!failed) file.bytes = fs::file_size(file.path, failed);
    if (failed) continue;
    if (name.ends_with(kSuffix) && of_another_version(file.path.string()) && fs::remove(file.path, failed)) {
      log::info("{}: removed, as no start of this version can read it", file.path.string());
      continue;
    }
    total += file.bytes;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (total <= config_.limit_bytes) return;
    if (file.path == path_) continue;
    std::error_code failed;
    if (fs::remove(file.path, failed)) {
      total -= file.bytes;
      log::info("{}: removed, as packed weights take more than {}", file.path.string(),
                readable_bytes(config_.limit_bytes));
    }
  }
}

}  // namespace millrace::backend::cpu
