#include "hub/cache_layout.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/env.h"
#include "checkpoint/quote_name.h"
#include "hub/reference.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;
using checkpoint::quote_name;

constexpr std::string_view kPrefix = "models--";
constexpr std::string_view kTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file is a cache directory tag, see https://bford.info/cachedir/\n";

Error failure(const fs::path& path, const std::error_code& error) {
  const bool full = error == std::errc::no_space_on_device;
  return make_error(full ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, "cache", "{}: {}", path.string(),
                    error.message());
}

Result<void> make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return failure(path, error);
  return {};
}

// A name beside `path` that no other process uses.
fs::path temporary_beside(const fs::path& path) {
  return path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
}

Result<void> write_file(const fs::path& path, std::string_view text) {
  const fs::path temporary = temporary_beside(path);
  std::error_code error;
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(temporary, path, error);
  if (!error) return {};
  std::error_code ignored;
  fs::remove(temporary, ignored);
  return failure(path, error);
}

}  // namespace

CacheLayout::CacheLayout(const Path& root) {
  if (root.empty()) return;
  std::error_code ignored;
  root_ = fs::absolute(root, ignored).lexically_normal();
  if (!root_.has_filename()) root_ = root_.parent_path();  // it ended in a slash
}

std::string CacheLayout::folder(const std::string& name) {
  std::string folder = std::string(kPrefix) + name;
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  return folder;
}

std::optional<std::string> CacheLayout::name_of(const std::string& folder) {
  if (!folder.starts_with(kPrefix)) return std::nullopt;
  std::string name = folder.substr(kPrefix.size());
  if (const std::size_t dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
  const auto reference = parse_reference(name);
  if (!reference || reference->name != name) return std::nullopt;
  return name;
}

bool CacheLayout::holds(const Path& path) const {
  std::error_code error;
  const fs::path root = fs::canonical(root_, error);
  if (error) return false;
  const fs::path real = fs::canonical(path, error);
  if (error) return false;
  return std::ranges::mismatch(root, real).in1 == root.end();
}

Result<std::string> CacheLayout::commit_of(const std::string& name, const std::string& revision) const {
  const fs::path path = ref(name, revision);
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    auto text = read_file(Env::system(), path.string(), 256);
    if (!text) return text.error();
    const std::string commit = text->substr(0, text->find_first_of(" \t\r\n"));
    if (is_word(commit)) return commit;
    return make_error(ErrorCode::kBadFile, "model", "{}: a commit id expected, found {}", path.string(),
                      quote_name(commit));
  }
  if (is_word(revision) && fs::is_directory(snapshot(name, revision), ignored)) return revision;
  return make_error(ErrorCode::kNotFound, "model",
                    "{}: revision {} is not in the cache (neither in refs nor in snapshots)", repository(name).string(),
                    quote_name(revision));
}

Result<void> CacheLayout::create(const std::string& name) const {
  for (const fs::path& path : {repository(name) / "blobs", repository(name) / "refs", locks(name)}) {
    if (auto made = make_folders(path); !made) return made;
    if (!holds(path)) {
      return make_error(ErrorCode::kInternal, "cache", "{}: a link out of the cache; nothing is written there",
                        path.string());
    }
  }
  std::error_code ignored;
  const fs::path tag = root_ / "CACHEDIR.TAG";
  if (fs::exists(tag, ignored)) return {};
  return write_file(tag, kTag);
}

Result<void> CacheLayout::link(const std::string& name, const std::string& commit, const std::string& file,
                               const std::string& etag) const {
  const fs::path path = snapshot(name, commit) / file;
  if (auto made = make_folders(path.parent_path()); !made) return made;
  if (!holds(path.parent_path())) {
    return make_error(ErrorCode::kInternal, "cache", "{}: a link out of the cache; nothing is written there",
                      path.parent_path().string());
  }
  fs::path target = fs::path("..") / ".." / "blobs" / etag;
  for (auto depth = std::ranges::count(file, '/'); depth > 0; --depth) target = ".." / target;
  const fs::path temporary = temporary_beside(path);
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, path, error);
  if (error) return failure(path, error);
  return {};
}

Result<void> CacheLayout::write_ref(const std::string& name, const std::string& revision,
                                    const std::string& commit) const {
  if (revision == commit) return {};
  const fs::path path = ref(name, revision);
  if (const auto known = commit_of(name, revision); known && *known == commit) return {};
  if (auto made = make_folders(path.parent_path()); !made) return made;
  return write_file(path, commit);
}

}  // namespace millrace::hub
