#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::hub {

// One file of a repository at one commit.
struct RepositoryFile {
  enum class Digest {
    kNone,     // the server told none that is known to be of the content
    kSha256,   // etag = SHA-256 of the content (large files)
    kGitSha1,  // etag = SHA-1 of "blob SIZE\0" and the content, git's own (small files)
  };
  std::string name;  // safe: see is_safe_file_name
  std::uint64_t size = 0;
  std::string etag;  // names the blob in the cache; empty = not known yet
  Digest digest = Digest::kNone;
};

// Names come from a server: a relative path without empty, "." or ".." parts, control characters, backslashes or
// colons, at most 512 bytes and 8 parts, no part longer than 255 bytes.
bool is_safe_file_name(std::string_view name);
// A name in blobs/: letters, digits, '-', '_', '.', at most 128, not starting with a dot.
bool is_safe_etag(std::string_view etag);
// W/"abc" -> abc.
std::string normalized_etag(std::string_view header);

std::string_view base_name(std::string_view path);

}  // namespace millrace::hub
