#include "hub/cache_removal.h"

#include <algorithm>
#include <set>

#include "base/env.h"
#include "hub/file_lock.h"
#include "hub/shared_store.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// The folders are the cache's own, not links to elsewhere.
Result<void> check_folders(const CacheLayout& cache, const std::string& name) {
  const fs::path repository = cache.repository(name);
  for (const fs::path& path : {repository, repository / "snapshots", repository / "blobs", repository / "refs"}) {
    std::error_code error;
    if (fs::symlink_status(path, error).type() != fs::file_type::symlink) continue;
    return make_error(ErrorCode::kInvalidArgument, "model", "{}: a link out of the cache's folder; remove it by hand",
                      path.string());
  }
  return {};
}

// The blob a file of a snapshot is: the first hop of its link, or the file itself where links were not possible.
fs::path blob_of(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::read_symlink(file, error);
  return error ? file : (file.parent_path() / target).lexically_normal();
}

std::uint64_t own_bytes(const fs::path& path) {
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) return 0;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

// The files of one snapshot that go; all of them when no model would be left.
Result<Names> leaving_files(const CachedSnapshot& snapshot, const std::string& selector) {
  Names all;
  for (const RepositoryFile& file : snapshot.files) all.insert(file.name);
  if (selector.empty()) return all;
  const auto choice = choose_model(snapshot.path.string(), snapshot.files, selector, [&](const RepositoryFile& file) {
    return read_file(Env::system(), (snapshot.path / file.name).string(), kMaxIndexBytes);
  });
  if (!choice) return choice.error();
  const Names leaving(choice->weights.begin(), choice->weights.end());
  CachedSnapshot rest = snapshot;
  std::erase_if(rest.files, [&](const RepositoryFile& file) { return leaving.contains(file.name); });
  const bool empty = std::ranges::all_of(models_of(rest), [](const CachedModel& m) { return m.format.empty(); });
  return empty ? all : leaving;
}

class Planner {
 public:
  Planner(const CacheLayout& cache, const RepositoryReference& reference) : cache_(cache), reference_(reference) {
    removal_.repository = reference.name;
  }

  Result<Removal> plan() {
    auto commits = chosen_commits();
    if (!commits) return commits.error();
    Result<void> found = make_error(ErrorCode::kNotFound, "model", "{}: no snapshot in the cache", reference_.text());
    for (const std::string& commit : cached_commits(cache_, reference_.name)) {
      const CachedSnapshot snapshot = read_snapshot(cache_, reference_.name, commit);
      if (!commits->contains(commit)) {
        keep(snapshot, {});
        continue;
      }
      const auto leaving = leaving_files(snapshot, reference_.selector);
      if (leaving) {
        take(snapshot, *leaving);
        found = {};
      } else {
        if (!found) found = leaving.error();
        keep(snapshot, {});
      }
    }
    if (!found && !(reference_.selector.empty() && !reference_.names_revision)) return found.error();
    removal_.whole = !snapshots_left_;
    choose_blobs();
    return std::move(removal_);
  }

 private:
  Result<Names> chosen_commits() const {
    if (reference_.names_revision) {
      auto commit = cache_.commit_of(reference_.name, reference_.revision);
      if (!commit) return commit.error();
      return Names{*commit};
    }
    const auto commits = cached_commits(cache_, reference_.name);
    return Names(commits.begin(), commits.end());
  }

  void keep(const CachedSnapshot& snapshot, const Names& leaving) {
    snapshots_left_ = true;
    for (const RepositoryFile& file : snapshot.files) {
      if (!leaving.contains(file.name)) kept_.insert(blob_of(snapshot.path / file.name));
    }
  }

  void take(const CachedSnapshot& snapshot, const Names& leaving) {
    for (CachedModel& model : models_of(snapshot)) {
      const bool gone = std::ranges::any_of(model.files, [&](const auto& file) { return leaving.contains(file); });
      if (gone) removal_.models.push_back(std::move(model));
    }
    for (const std::string& name : leaving) leaving_.insert(blob_of(snapshot.path / name));
    if (leaving.size() == snapshot.files.size()) {
      removal_.snapshots.push_back(snapshot.path);
      for (const std::string& ref : snapshot.refs) removal_.refs.push_back(cache_.ref(reference_.name, ref));
    } else {
      for (const std::string& name : leaving) removal_.links.push_back(snapshot.path / name);
      keep(snapshot, leaving);
    }
  }

  // With the whole repository go all of its blobs, parts of downloads too.
  void choose_blobs() {
    const fs::path folder = (cache_.repository(reference_.name) / "blobs").lexically_normal();
    if (removal_.whole) {
      std::error_code error;
      for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        leaving_.insert(it->path().lexically_normal());
      }
    }
    for (const fs::path& blob : leaving_) {
      if (kept_.contains(blob)) continue;
      removal_.bytes += own_bytes(blob);
      if (blob.parent_path() != folder) continue;  // a file of the snapshot itself, which goes with it
      removal_.blobs.push_back(blob);
    }
    std::set<fs::path> shared;
    for (const fs::path& blob : removal_.blobs) {
      if (auto path = shared_blob_of(cache_, blob)) shared.insert(*path);
    }
    for (const fs::path& path : shared) removal_.shared_bytes += unshared_bytes(cache_, path, removal_.blobs);
    removal_.bytes += removal_.shared_bytes;
    removal_.shared.assign(shared.begin(), shared.end());
  }

  const CacheLayout& cache_;
  const RepositoryReference& reference_;
  Removal removal_;
  std::set<fs::path> kept_, leaving_;
  bool snapshots_left_ = false;
};

// The locks of all blobs, or an error when one is taken.
Result<std::vector<FileLock>> lock_all(const CacheLayout& cache, const std::string& name) {
  std::vector<FileLock> locks;
  std::error_code error;
  for (fs::directory_iterator it(cache.locks(name), error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".lock") continue;
    auto lock = FileLock::try_acquire(it->path().string());
    if (!lock) {
      return make_error(ErrorCode::kInternal, "model", "{}: another process downloads it; nothing was removed", name);
    }
    locks.push_back(*std::move(lock));
  }
  return locks;
}

}  // namespace

Result<Removal> plan_removal(const CacheLayout& cache, const RepositoryReference& reference) {
  std::error_code ignored;
  if (!fs::exists(cache.repository(reference.name), ignored)) {
    return make_error(ErrorCode::kNotFound, "model", "{}: not in the cache: looked for {}", reference.text(),
                      cache.repository(reference.name).string());
  }
  if (auto checked = check_folders(cache, reference.name); !checked) return checked.error();
  return Planner(cache, reference).plan();
}

Result<std::uint64_t> remove(const CacheLayout& cache, const Removal& removal) {
  if (auto checked = check_folders(cache, removal.repository); !checked) return checked.error();
  const auto locks = lock_all(cache, removal.repository);
  if (!locks) return locks.error();
  std::error_code error;
  const auto failed = [&](const fs::path& path) {
    return make_error(ErrorCode::kInternal, "cache", "{}: {}", path.string(), error.message());
  };
  // remove and remove_all delete links, never what they lead to.
  std::vector<fs::path> paths = removal.refs;
  for (const auto* group : {&removal.links, &removal.snapshots, &removal.blobs}) {
    paths.insert(paths.end(), group->begin(), group->end());
  }
  if (removal.whole) {
    paths.push_back(cache.repository(removal.repository));
    paths.push_back(cache.locks(removal.repository));
  }
  for (const fs::path& path : paths) {
    fs::remove_all(path, error);
    if (error) return failed(path);
  }
  std::uint64_t freed = removal.bytes - removal.shared_bytes;
  for (const fs::path& path : removal.shared) freed += sweep_shared_blob(cache, path);
  return freed;
}

}  // namespace millrace::hub
