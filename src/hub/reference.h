#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::hub {

inline constexpr std::string_view kDefaultRevision = "main";

// A model in a repository of the hub: [hf://][org/]name[:selector][@revision].
struct RepositoryReference {
  std::string name;      // "org/name", or a canonical "name"
  std::string selector;  // a quantization ("Q4_K_M") or a file's name; empty = the hub's order of preference
  std::string revision{kDefaultRevision};
  bool names_revision = false;  // the user did, even if it is the default

  std::string text() const;  // as one types it
};

// kInvalidArgument names what of the grammar is broken. Never looks at the disk.
Result<RepositoryReference> parse_reference(std::string_view text);

// True for a reference that can only mean a path: absolute, relative with a dot, or a name that ends in .gguf.
bool is_path_reference(std::string_view text);

// A name of the hub or of git that is also one safe name of a file: letters, digits, '-', '_', '.', at most 96.
bool is_word(std::string_view text);
// A branch, a tag, refs/pr/N or a commit: words between slashes.
bool is_revision(std::string_view text);
// 40 hexadecimal digits.
bool is_commit(std::string_view text);

}  // namespace millrace::hub
