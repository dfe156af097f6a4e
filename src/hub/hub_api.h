#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hub/repository_file.h"
#include "hub/transport.h"

namespace millrace::hub {

// A repository at one commit, as the hub tells of it.
struct RepositoryInfo {
  std::string name, commit;
  std::vector<RepositoryFile> files;
};

// GET /api/models/NAME/revision/REVISION?blobs=true. Everything in the answer is data: names, sizes and tags are
// checked, unsafe ones refuse the repository.
Result<RepositoryInfo> fetch_repository(HubTransport& transport, const std::string& name, const std::string& revision);
// The answer's text alone; `where` names it in messages.
Result<RepositoryInfo> parse_repository(const std::string& where, const std::string& text);

// Asks for what the listing did not tell (mirrors may leave out sizes and tags): HEAD of the file.
Result<void> complete_file(HubTransport& transport, const RepositoryInfo& repository, RepositoryFile& file);

// /NAME/resolve/COMMIT/FILE
std::string file_url(const HubSettings& settings, const RepositoryInfo& repository, const std::string& file);

// What an answer that is no success means to the user. `file` is empty for the repository itself.
Error hub_error(const Answer& answer, const HubSettings& settings, const std::string& repository,
                const std::string& revision, const std::string& file);

}  // namespace millrace::hub
