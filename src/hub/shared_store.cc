#include "hub/shared_store.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/env.h"
#include "hub/file_lock.h"
#include "hub/repository_file.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxManifestBytes = 16 << 20;
constexpr std::string_view kLayoutVersion = "1\n";

bool is_regular(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::regular;
}

bool is_shared_name(const std::string& folder, const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos &&
         folder == name.substr(0, 2);
}

bool is_store(const fs::path& store) {
  std::error_code error;
  const fs::path marker = store / ".huggingface-shared-blobs";
  if (fs::symlink_status(store, error).type() != fs::file_type::directory || !is_regular(marker)) return false;
  const auto version = read_file(Env::system(), marker.string(), 64);
  return version && *version == kLayoutVersion;
}

// Where the link leads, by its text.
fs::path target_of(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (error) return {};
  return (target.is_absolute() ? target : link.parent_path() / target).lexically_normal();
}

// The links that the manifest lists; nothing if it is not there or is not what it should be.
std::optional<std::vector<fs::path>> listed_links(const CacheLayout& cache, const fs::path& shared) {
  const fs::path manifest = shared.string() + ".refs";
  if (!is_regular(manifest)) return std::nullopt;
  const auto text = read_file(Env::system(), manifest.string(), kMaxManifestBytes);
  if (!text || text->empty()) return std::nullopt;
  std::vector<fs::path> links;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!is_safe_file_name(line) || std::ranges::count(line, '/') != 2) return std::nullopt;
    links.push_back((cache.root() / line).lexically_normal());
  }
  return links;
}

}  // namespace

std::optional<fs::path> shared_blob_of(const CacheLayout& cache, const fs::path& blob) {
  const fs::path target = target_of(blob);
  const fs::path store = (cache.root() / "blobs").lexically_normal();
  if (target.empty() || target.parent_path().parent_path() != store) return std::nullopt;
  if (!is_shared_name(target.parent_path().filename().string(), target.filename().string())) return std::nullopt;
  if (!is_store(store) || !is_regular(target)) return std::nullopt;
  return target;
}

std::uint64_t unshared_bytes(const CacheLayout& cache, const fs::path& shared, const std::vector<fs::path>& leaving) {
  const auto links = listed_links(cache, shared);
  if (!links) return 0;
  for (const fs::path& link : *links) {
    const bool leaves = std::ranges::any_of(leaving, [&](const fs::path& p) { return p.lexically_normal() == link; });
    if (!leaves && target_of(link) == shared) return 0;
  }
  std::error_code error;
  const auto bytes = fs::file_size(shared, error);
  return error ? 0 : bytes;
}

std::uint64_t sweep_shared_blob(const CacheLayout& cache, const fs::path& shared) {
  const auto lock = FileLock::try_acquire(shared.string() + ".lock");
  if (!lock || !is_regular(shared)) return 0;
  const std::uint64_t bytes = unshared_bytes(cache, shared, {});
  std::error_code error;
  if (bytes == 0 || !fs::remove(shared, error)) return 0;
  fs::remove(shared.string() + ".refs", error);
  return bytes;
}

}  // namespace millrace::hub
