#include "model/adapters/adapter_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/readable_bytes.h"

namespace millrace::model {

Result<std::shared_ptr<const Adapter>> AdapterStore::load(Env& env, const std::string& name,
                                                          const std::string& directory) try {
  const TimePoint start = env.now();
  auto adapter = loader_.load(env, directory, options_);
  set_->put(name, directory, adapter);
  const AdapterSummary& summary = adapter->summary();
  log::info("adapter {}: {}: rank {} for {} weights, {} as {} (error {:.1e}), loaded in {:.0f} ms", name, directory,
            summary.rank, summary.modules, readable_bytes(static_cast<double>(adapter->bytes())), summary.type,
            summary.error, milliseconds_between(start, env.now()));
  return adapter;
} catch (const LoadError& failure) {
  return failure.error();
}

Result<std::shared_ptr<const Adapter>> AdapterStore::load_inside(Env& env, const std::string& name,
                                                                 const std::string& path) {
  namespace fs = std::filesystem;
  if (directory_.empty()) {
    return make_error(ErrorCode::kUnsupported, "lora_path",
                      "adapters are loaded while the server runs only from the directory that it was started with: "
                      "--lora-dir");
  }
  std::error_code failure;
  const fs::path inside = fs::canonical(directory_, failure);
  const fs::path found = failure ? fs::path() : fs::canonical(inside / path, failure);
  const auto outside = std::mismatch(inside.begin(), inside.end(), found.begin(), found.end()).first != inside.end();
  if (path.find('\0') != std::string::npos || failure || outside || found == inside) {
    return make_error(failure ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument, "lora_path",
                      "lora_path names no directory inside that of --lora-dir");
  }
  return load(env, name, found);
}

}  // namespace millrace::model
