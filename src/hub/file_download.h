#pragma once

#include <string>

#include "hub/cache_layout.h"
#include "hub/hub_api.h"
#include "hub/partial_file.h"
#include "hub/transport.h"

namespace millrace::hub {

// What a download uses; all of it must outlive the download.
struct DownloadContext {
  HubTransport& transport;
  const CacheLayout& cache;
  Pause& pause;
  PullObserver& observer;
  OpenPartialFile open_partial = open_partial_file;
};

// Downloads one file of the repository, with known tag, size and hash, into blobs/. It waits for another process that
// downloads the same file, continues what an earlier one left, tries again as long as bytes arrive, and checks the
// content. The blob is complete and checked, or absent; incomplete content stays for the next try, unless it proved
// wrong.
Result<void> download_file(const DownloadContext& context, const RepositoryInfo& repository,
                           const RepositoryFile& file);

// Bytes of the file that an earlier download left.
std::uint64_t partial_bytes(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file);
bool blob_is_there(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file);

}  // namespace millrace::hub
