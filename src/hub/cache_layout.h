#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::hub {

// Where things lie in the Hugging Face cache, which other programs read and write too:
//   ROOT/CACHEDIR.TAG                              backups leave the cache out
//   ROOT/models--ORG--NAME/blobs/ETAG              contents; ETAG.incomplete while one is downloaded. Since hub 2.0 it
//                                                  may be a link into the store that all repositories share,
//                                                  ROOT/blobs/
//   ROOT/models--ORG--NAME/snapshots/COMMIT/FILE   relative link to the blob
//   ROOT/models--ORG--NAME/refs/REVISION           the commit a branch or tag stood for when it was last asked
//   ROOT/.locks/models--ORG--NAME/ETAG.lock        flock held while the blob is written
class CacheLayout {
 public:
  using Path = std::filesystem::path;
  explicit CacheLayout(const Path& root);  // empty root = there is no cache

  const Path& root() const noexcept { return root_; }  // absolute
  Path repository(const std::string& name) const { return root_ / folder(name); }
  Path blob(const std::string& name, const std::string& etag) const { return repository(name) / "blobs" / etag; }
  Path snapshot(const std::string& name, const std::string& commit) const {
    return repository(name) / "snapshots" / commit;
  }
  Path ref(const std::string& name, const std::string& revision) const { return repository(name) / "refs" / revision; }
  Path locks(const std::string& name) const { return root_ / ".locks" / folder(name); }
  Path lock(const std::string& name, const std::string& etag) const { return locks(name) / (etag + ".lock"); }

  static std::string folder(const std::string& name);
  // "models--org--name" -> "org/name"; nothing for other names.
  static std::optional<std::string> name_of(const std::string& folder);

  // Whether `path` exists and, with all links followed, lies within the root.
  bool holds(const Path& path) const;

  // The commit that a branch, tag or commit refers to, from refs/ and snapshots/. kNotFound if neither has it.
  Result<std::string> commit_of(const std::string& name, const std::string& revision) const;

  // Makes the root with its CACHEDIR.TAG, and the folders of a repository.
  Result<void> create(const std::string& name) const;
  // Links snapshots/COMMIT/FILE to blobs/ETAG, and replaces an existing link.
  Result<void> link(const std::string& name, const std::string& commit, const std::string& file,
                    const std::string& etag) const;
  // Writes COMMIT to refs/REVISION atomically.
  Result<void> write_ref(const std::string& name, const std::string& revision, const std::string& commit) const;

 private:
  Path root_;
};

}  // namespace millrace::hub
