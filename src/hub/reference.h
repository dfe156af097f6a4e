#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::hub {

inline constexpr std::string_view kDefaultRevision = "main";

// A reference to a model in a repository of the hub: [hf://][org/]name[:selector][@revision]. Instead of "hf://" it may
// begin with "hf.co/" or "huggingface.co/", with or without "https://", and be the address of a page (model_address.h).
struct RepositoryReference {
  std::string name;      // "org/name", or a canonical "name"
  std::string selector;  // a quantization ("Q4_K_M") or a file's name; empty = by order of preference
  std::string revision{kDefaultRevision};
  bool names_revision = false;  // the user gave a revision, even if it is the default
  bool names_hub = false;       // the user named the hub: "hf://", or its address

  std::string text() const;  // in the form that the user types
};

// Parses a reference. kInvalidArgument names the mistake; kUnsupported says what to write instead of a name of another
// library of models. Never reads the disk.
Result<RepositoryReference> parse_reference(std::string_view text);

// Whether the reference can only be a path: absolute, relative with a dot, or ending in .gguf.
bool is_path_reference(std::string_view text);

// Whether it is a name of the hub or of git that is also a safe file name: letters, digits, '-', '_', '.', at most 96.
bool is_word(std::string_view text);
// Whether it may be a branch, a tag, refs/pr/N or a commit: words separated by slashes.
bool is_revision(std::string_view text);
// Whether it is 40 hexadecimal digits.
bool is_commit(std::string_view text);

}  // namespace millrace::hub
