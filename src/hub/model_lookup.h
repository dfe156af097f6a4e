#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hub/cache_layout.h"
#include "hub/reference.h"

namespace millrace::hub {

// Where a model lies, without the network; the path is one that checkpoint::open_checkpoint takes.

// A reference that is a path: a directory with config.json or with a single .gguf, or a file. Nothing for a reference
// that may be a name on the hub; kNotFound for one that can only be a path and is not there.
Result<std::optional<std::string>> find_path(const std::string& reference);

// A model of the cache. Like a pull, but what the user did not name is chosen among what is there. kNotFound says where
// it looked.
Result<std::string> find_cached(const CacheLayout& cache, const RepositoryReference& reference);

// The two together. `cache_root` may be empty.
Result<std::string> resolve_model(const std::string& reference, const std::string& cache_root);

}  // namespace millrace::hub
