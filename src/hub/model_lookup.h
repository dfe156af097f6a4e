#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hub/cache_layout.h"
#include "hub/reference.h"

namespace millrace::hub {

// Finds models without the network. Returned paths are for checkpoint::open_checkpoint.

// The path that a reference names: a directory with config.json or with a single .gguf, or a file. Nothing for a
// reference that may be a name on the hub; kNotFound for one that can only be a path and does not exist.
Result<std::optional<std::string>> find_path(const std::string& reference);

// Finds a model in the cache. As for a pull, but what the user did not name is chosen among what exists. kNotFound
// lists the places searched.
Result<std::string> find_cached(const CacheLayout& cache, const RepositoryReference& reference);

// find_path(), then find_cached(). `cache_root` may be empty.
Result<std::string> resolve_model(const std::string& reference, const std::string& cache_root);

}  // namespace millrace::hub
