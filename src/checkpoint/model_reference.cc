#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxReferenceBytes = 4096;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 96 && text.find("..") == std::string_view::npos && text.front() != '.' &&
         text.front() != '-' && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

// Words between slashes, at most `limit` of them.
bool is_path_of_words(std::string_view text, int limit) {
  for (int words = 1;; ++words) {
    const std::size_t slash = text.find('/');
    if (words > limit || !is_word(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

Error invalid(const std::string& reference) {
  return make_error(ErrorCode::kInvalidArgument, "model",
                    "model {}: a directory, a .gguf file, or org/name[@revision] expected", quote_name(reference));
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A directory with config.json is a model itself; one with a single .gguf file stands for that file.
Result<std::string> resolve_directory(const fs::path& directory) {
  if (is_there(directory / "config.json")) return directory.string();
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".gguf" && is_there(it->path())) found.push_back(it->path().string());
  }
  if (error) return make_error(ErrorCode::kNotFound, "model", "{}: {}", directory.string(), error.message());
  if (found.size() == 1) return found.front();
  return make_error(ErrorCode::kNotFound, "model", "{}: no config.json, and {} .gguf files{}", directory.string(),
                    found.size(), found.empty() ? "" : ": name the one you mean");
}

// The commit that a branch, a tag or a commit id stands for.
Result<std::string> resolve_revision(const fs::path& repository, const std::string& revision) {
  if (is_there(repository / "refs" / revision)) {
    auto text = read_file(Env::system(), (repository / "refs" / revision).string(), 256);
    if (!text) return text.error();
    const std::string commit = text->substr(0, text->find_first_of(" \t\r\n"));
    if (!is_word(commit)) {
      return make_error(ErrorCode::kBadFile, "model", "{}: a commit id expected, found {}",
                        (repository / "refs" / revision).string(), quote_name(commit));
    }
    return commit;
  }
  if (is_word(revision) && is_there(repository / "snapshots" / revision)) return revision;
  return make_error(ErrorCode::kNotFound, "model",
                    "{}: revision {} is not in the cache (neither in refs nor in snapshots)", repository.string(),
                    quote_name(revision));
}

Result<std::string> resolve_in_cache(const std::string& name, const std::string& revision, const std::string& root) {
  if (root.empty()) {
    return make_error(ErrorCode::kNotFound, "model",
                      "model {}: not a path, and no Hugging Face cache is known (set HF_HOME)", quote_name(name));
  }
  std::string folder = "models--" + name;
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  const fs::path repository = fs::path(root) / folder;
  if (!is_there(repository)) {
    return make_error(
        ErrorCode::kNotFound, "model",
        "model {}: not a path, and not in the Hugging Face cache: looked for {}. Download it with `hf download {}`, "
        "or put the files into a directory and give its path",
        quote_name(name), repository.string(), name);
  }
  const auto commit = resolve_revision(repository, revision);
  if (!commit) return commit.error();
  const fs::path snapshot = repository / "snapshots" / *commit;
  if (!is_there(snapshot)) {
    return make_error(ErrorCode::kNotFound, "model", "{}: no such snapshot in the cache; download it again",
                      snapshot.string());
  }
  return resolve_directory(snapshot);
}

}  // namespace

Result<std::string> resolve_model(const std::string& reference, const CacheRoots& roots) {
  if (reference.empty() || reference.size() > kMaxReferenceBytes || reference.find('\0') != std::string::npos) {
    return invalid(reference);
  }
  std::error_code ignored;
  if (fs::is_directory(reference, ignored)) return resolve_directory(reference);
  if (fs::is_regular_file(reference, ignored)) return reference;
  const std::size_t at = reference.find('@');
  const std::string name = reference.substr(0, at);
  const std::string revision = at == std::string::npos ? "main" : reference.substr(at + 1);
  if (name.ends_with(".gguf") || reference.starts_with("/") || reference.starts_with(".")) {
    return make_error(ErrorCode::kNotFound, "model", "{}: No such file or directory", quote_name(reference));
  }
  if (!is_path_of_words(name, 2) || name.find("--") != std::string::npos || !is_path_of_words(revision, 8)) {
    return invalid(reference);
  }
  return resolve_in_cache(name, revision, roots.huggingface);
}

CacheRoots cache_roots(const char* (*get)(const char* name)) {
  const auto value = [get](const char* name) -> std::string {
    const char* text = get(name);
    return text == nullptr ? "" : text;
  };
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (auto path = value(name); !path.empty()) return {path};
  }
  if (const auto home = value("HF_HOME"); !home.empty()) return {home + "/hub"};
  if (const auto cache = value("XDG_CACHE_HOME"); !cache.empty()) return {cache + "/huggingface/hub"};
  if (const auto home = value("HOME"); !home.empty()) return {home + "/.cache/huggingface/hub"};
  return {};
}

}  // namespace millrace::checkpoint
