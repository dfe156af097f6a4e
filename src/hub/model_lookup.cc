#include "hub/model_lookup.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/env.h"
#include "checkpoint/quote_name.h"
#include "hub/cache_index.h"
#include "hub/gguf_name.h"
#include "hub/model_choice.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;
using checkpoint::quote_name;

constexpr std::size_t kMaxPathBytes = 4096;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A directory with config.json is a model itself; one with a single .gguf file, or the parts of one, stands for it.
Result<std::string> resolve_directory(const fs::path& directory) {
  if (is_there(directory / "config.json")) return directory.string();
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_model = is_gguf_name(name) && !is_auxiliary_gguf(name) && parse_gguf_name(name).part == 1;
    if (is_model && is_there(it->path())) found.push_back(it->path().string());
  }
  if (error) return make_error(ErrorCode::kNotFound, "model", "{}: {}", directory.string(), error.message());
  if (found.size() == 1) return found.front();
  if (found.empty() && is_there(directory / kAdapterConfig)) return adapter_alone(directory.string());
  return make_error(ErrorCode::kNotFound, "model", "{}: no config.json, and {} .gguf files{}", directory.string(),
                    found.size(), found.empty() ? "" : ": name the one you mean");
}

}  // namespace

Result<std::optional<std::string>> find_path(const std::string& reference) {
  if (reference.size() > kMaxPathBytes || reference.find('\0') != std::string::npos) {
    return std::optional<std::string>();
  }
  std::error_code ignored;
  if (!reference.empty() && fs::is_directory(reference, ignored)) {
    auto path = resolve_directory(reference);
    if (!path) return path.error();
    return std::optional<std::string>(*std::move(path));
  }
  if (fs::is_regular_file(reference, ignored)) return std::optional<std::string>(reference);
  if (!is_path_reference(reference)) return std::optional<std::string>();
  return make_error(ErrorCode::kNotFound, "model", "{}: No such file or directory", quote_name(reference));
}

Result<std::string> find_cached(const CacheLayout& cache, const RepositoryReference& reference) {
  if (cache.root().empty()) {
    return make_error(ErrorCode::kNotFound, "model",
                      "model {}: not a path, and no Hugging Face cache is known (set HF_HOME)",
                      quote_name(reference.name));
  }
  const fs::path repository = cache.repository(reference.name);
  if (!is_there(repository)) {
    return make_error(
        ErrorCode::kNotFound, "model",
        "model {}: not a path, and not in the Hugging Face cache: looked for {}. Download it with `millrace pull {}`, "
        "or put the files into a directory and give its path",
        quote_name(reference.name), repository.string(), reference.text());
  }
  const auto commit = cache.commit_of(reference.name, reference.revision);
  if (!commit) return commit.error();
  const fs::path path = cache.snapshot(reference.name, *commit);
  if (!is_there(path)) {
    return make_error(ErrorCode::kNotFound, "model", "{}: no such snapshot in the cache; download it again",
                      path.string());
  }
  const CachedSnapshot snapshot = read_snapshot(cache, reference.name, *commit);
  const auto choice = choose_model(path.string(), snapshot.files, reference.selector, [&](const RepositoryFile& file) {
    return read_file(Env::system(), (path / file.name).string(), kMaxIndexBytes);
  });
  if (!choice) return choice.error();
  return (choice->entry.empty() ? path : path / choice->entry).string();
}

Result<std::string> resolve_model(const std::string& reference, const std::string& cache_root) {
  auto path = find_path(reference);
  if (!path) return path.error();
  if (*path) return **path;
  const auto parsed = parse_reference(reference);
  if (!parsed) return parsed.error();
  return find_cached(CacheLayout(cache_root), *parsed);
}

}  // namespace millrace::hub
