#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hub/repository_file.h"
#include "hub/transport.h"

namespace millrace::hub {

// A repository at one commit, as described by the hub.
struct RepositoryInfo {
  std::string name, commit;
  std::vector<RepositoryFile> files;
};

// Fetches /api/models/NAME/revision/REVISION?blobs=true. Names, sizes and tags are checked; unsafe ones are an error.
Result<RepositoryInfo> fetch_repository(HubTransport& transport, const std::string& name, const std::string& revision);
// Parses the answer; `where` names it in messages.
Result<RepositoryInfo> parse_repository(const std::string& where, const std::string& text);

// Completes size and tag, which mirrors may leave out of the listing, by a HEAD request for the file.
Result<void> complete_file(HubTransport& transport, const RepositoryInfo& repository, RepositoryFile& file);

// The URL /NAME/resolve/COMMIT/FILE.
std::string file_url(const HubSettings& settings, const RepositoryInfo& repository, const std::string& file);

// The error for an answer that is no success. `file` is empty for the repository itself.
Error hub_error(const Answer& answer, const HubSettings& settings, const std::string& repository,
                const std::string& revision, const std::string& file);

}  // namespace millrace::hub
