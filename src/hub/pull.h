#pragma once

#include <string>
#include <vector>

#include "hub/file_download.h"
#include "hub/model_choice.h"
#include "hub/reference.h"

namespace millrace::hub {

struct PullRequest {
  RepositoryReference reference;
  int max_workers = 4;               // concurrent downloads, 1 to 16
  std::vector<std::string> include;  // shell patterns of files to fetch besides the model
  bool dry_run = false;              // only report what would be fetched
};

struct PulledFile {
  std::string name;
  std::uint64_t bytes = 0;
  bool present = false;  // it existed before the pull
};

struct PullResult {
  std::string commit;
  std::string path;  // for open_checkpoint: the .gguf file, or the snapshot's folder
  ModelChoice choice;
  std::vector<PulledFile> files;
  std::uint64_t total_bytes = 0, fetched_bytes = 0;
};

// The dependencies of a pull, all injectable.
struct PullWorld {
  http::HttpClient& client;
  Pause& pause;
  PullObserver& observer;
  RetryPolicy retry;
  OpenPartialFile open_partial = open_partial_file;
  Result<std::uint64_t> (*free_bytes)(const std::string& path) = hub::free_bytes;
};

// Downloads a model into the cache: fetches the repository's listing at the revision, chooses the model, and downloads
// its files, several at a time. Existing files are not fetched again. Links and the ref are made last (weights after
// small files, the ref after the links), so that the cache only shows complete models.
Result<PullResult> pull(const HubSettings& settings, const PullRequest& request, const PullWorld& world);

}  // namespace millrace::hub
