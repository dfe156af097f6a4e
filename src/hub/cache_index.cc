#include "hub/cache_index.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/env.h"
#include "hub/gguf_name.h"
#include "hub/reference.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxFilesOfSnapshot = 200'000;

std::vector<std::string> folders_in(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error, ignored;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(ignored)) names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Branches and tags below refs/, whose names may hold slashes.
std::vector<std::string> refs_of(const CacheLayout& cache, const std::string& repository, const std::string& commit) {
  std::vector<std::string> refs;
  const fs::path folder = cache.repository(repository) / "refs";
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    if (!it->is_regular_file(ignored)) continue;
    const std::string name = it->path().lexically_relative(folder).string();
    if (!is_revision(name)) continue;
    if (const auto found = cache.commit_of(repository, name); found && *found == commit) refs.push_back(name);
  }
  std::ranges::sort(refs);
  return refs;
}

// When the newest of the files was written: what the links point to, for links are made anew by copies.
std::chrono::system_clock::time_point newest(const fs::path& snapshot, const std::vector<std::string>& files) {
  std::time_t seconds = 0;
  for (const std::string& name : files) {
    struct stat status{};
    if (::stat((snapshot / name).c_str(), &status) == 0) seconds = std::max(seconds, status.st_mtime);
  }
  return std::chrono::system_clock::from_time_t(seconds);
}

CachedModel model_in(const CachedSnapshot& snapshot, std::vector<std::string> files) {
  CachedModel model;
  model.repository = snapshot.repository;
  model.commit = snapshot.commit;
  model.refs = snapshot.refs;
  model.path = snapshot.path;
  for (const std::string& name : files) {
    if (const RepositoryFile* file = find_file(snapshot.files, name)) model.bytes += file->size;
  }
  model.modified = newest(snapshot.path, files);
  model.files = std::move(files);
  return model;
}

// "org/name", "org/name@v1": the shortest that leads to the snapshot.
std::string reference_to(const CachedSnapshot& snapshot, const std::string& selector) {
  const auto& refs = snapshot.refs;
  const bool is_default = std::ranges::find(refs, kDefaultRevision) != refs.end();
  return RepositoryReference{.name = snapshot.repository,
                             .selector = selector,
                             .revision = is_default     ? std::string(kDefaultRevision)
                                         : refs.empty() ? snapshot.commit
                                                        : refs.front()}
      .text();
}

}  // namespace

CachedSnapshot read_snapshot(const CacheLayout& cache, const std::string& repository, const std::string& commit) {
  CachedSnapshot snapshot;
  snapshot.repository = repository;
  snapshot.commit = commit;
  snapshot.path = cache.snapshot(repository, commit);
  snapshot.refs = refs_of(cache, repository, commit);
  std::error_code error;
  for (fs::recursive_directory_iterator it(snapshot.path, error), end; !error && it != end; it.increment(error)) {
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    std::error_code failed;
    if (!it->is_regular_file(failed) || snapshot.files.size() >= kMaxFilesOfSnapshot) continue;
    RepositoryFile file;
    file.name = it->path().lexically_relative(snapshot.path).string();
    file.size = it->file_size(failed);
    if (!failed && is_safe_file_name(file.name) && cache.holds(it->path())) snapshot.files.push_back(std::move(file));
  }
  std::ranges::sort(snapshot.files, {}, &RepositoryFile::name);
  return snapshot;
}

std::vector<std::string> cached_commits(const CacheLayout& cache, const std::string& repository) {
  std::vector<std::string> commits = folders_in(cache.repository(repository) / "snapshots");
  std::erase_if(commits, [](const std::string& commit) { return !is_word(commit); });
  return commits;
}

std::vector<CachedSnapshot> read_cache(const CacheLayout& cache) {
  std::vector<CachedSnapshot> snapshots;
  for (const std::string& folder : folders_in(cache.root())) {
    const auto name = CacheLayout::name_of(folder);  // neither the shared blobs nor data sets
    if (!name) continue;
    for (const std::string& commit : cached_commits(cache, *name)) {
      snapshots.push_back(read_snapshot(cache, *name, commit));
    }
  }
  return snapshots;
}

std::vector<CachedModel> models_of(const CachedSnapshot& snapshot) {
  std::vector<CachedModel> models;
  const std::vector<GgufModel> ggufs = gguf_models(snapshot.files);
  for (const GgufModel& gguf : ggufs) {
    CachedModel model = model_in(snapshot, gguf.shards);
    model.format = "gguf";
    model.quantization = gguf.quantization;
    model.complete = gguf.complete;
    const auto same = std::ranges::count(ggufs, gguf.quantization, &GgufModel::quantization);
    const bool by_name = gguf.quantization.empty() || same > 1;
    model.reference = reference_to(snapshot, by_name ? gguf.shards.front() : gguf.quantization);
    if (gguf.complete) model.path /= gguf.shards.front();
    models.push_back(std::move(model));
  }
  const checkpoint::WeightContainer* container = find_container(snapshot.files);
  if (container != nullptr || ggufs.empty()) {
    const std::string format(container == nullptr ? "" : to_string(container->container));
    const auto read = [&](const RepositoryFile& file) {
      return read_file(Env::system(), (snapshot.path / file.name).string(), kMaxIndexBytes);
    };
    const auto choice = choose_model(snapshot.repository, snapshot.files, format, read);
    std::vector<std::string> files;
    for (const RepositoryFile& file : snapshot.files) {
      if (!is_gguf_name(file.name)) files.push_back(file.name);
    }
    CachedModel model = model_in(snapshot, std::move(files));
    model.format = format;
    model.complete = choice.ok();
    model.reference = reference_to(snapshot, ggufs.empty() ? "" : format);
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace millrace::hub
