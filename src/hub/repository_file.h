#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::hub {

// One file of a repository at one commit.
struct RepositoryFile {
  enum class Digest {
    kNone,     // the server gave no tag that is a known hash of the content
    kSha256,   // etag = SHA-256 of the content (large files)
    kGitSha1,  // etag = SHA-1 of "blob SIZE\0" and the content, as git computes it (small files)
  };
  std::string name;  // safe: see is_safe_file_name
  std::uint64_t size = 0;
  std::string etag;  // name of the blob in the cache; empty = not known yet
  Digest digest = Digest::kNone;
};

// Whether a name from a server is safe: a relative path without empty, "." or ".." parts, control characters,
// backslashes or colons, at most 512 bytes and 8 parts, no part longer than 255 bytes.
bool is_safe_file_name(std::string_view name);
// Whether it may be a name in blobs/: letters, digits, '-', '_', '.', at most 128, not starting with a dot.
bool is_safe_etag(std::string_view etag);
// The tag of an ETag header: W/"abc" -> abc.
std::string normalized_etag(std::string_view header);

std::string_view base_name(std::string_view path);

}  // namespace millrace::hub
