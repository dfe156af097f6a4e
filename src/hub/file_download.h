#pragma once

#include <string>

#include "hub/cache_layout.h"
#include "hub/hub_api.h"
#include "hub/partial_file.h"
#include "hub/transport.h"

namespace millrace::hub {

// What a download needs of the world; outlives it.
struct DownloadContext {
  HubTransport& transport;
  const CacheLayout& cache;
  Pause& pause;
  PullObserver& observer;
  OpenPartialFile open_partial = open_partial_file;
};

// Brings one file of the repository into blobs/, where its tag, size and hash are known: waits for another process that
// is at it, continues what an earlier one left, tries again as long as something arrives, and checks the content. The
// blob exists whole and checked, or not at all; what arrived of it stays for the next try, except content that proved
// wrong.
Result<void> download_file(const DownloadContext& context, const RepositoryInfo& repository,
                           const RepositoryFile& file);

// Bytes of the file that an earlier download left.
std::uint64_t partial_bytes(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file);
bool blob_is_there(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file);

}  // namespace millrace::hub
