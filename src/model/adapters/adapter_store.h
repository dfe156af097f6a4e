#pragma once

#include <memory>
#include <string>
#include <utility>

#include "model/adapters/load_adapter.h"
#include "model/adapters/lora_set.h"

namespace millrace::model {

// The adapters of a loaded model, and how more of them come in. All threads.
class AdapterStore {
 public:
  // What `loader` refers to must outlive the store's calls. `directory`: where load_inside() looks; empty: nowhere.
  AdapterStore(AdapterLoader loader, const AdapterOptions& options, std::string directory = {})
      : loader_(std::move(loader)), options_(options), directory_(std::move(directory)) {}

  // Reads the adapter of that directory and gives it the name, in place of another one of that name; requests that have
  // that one keep it. Errors of AdapterLoader::load(); then nothing has changed.
  Result<std::shared_ptr<const Adapter>> load(Env& env, const std::string& name, const std::string& directory);
  // The same for a directory inside the store's own: `path` is relative to that, or inside it. kUnsupported where the
  // store has none; kInvalidArgument naming lora_path for a path that leads out, also by a symbolic link.
  Result<std::shared_ptr<const Adapter>> load_inside(Env& env, const std::string& name, const std::string& path);
  const std::shared_ptr<LoraSet>& set() const noexcept { return set_; }

 private:
  AdapterLoader loader_;
  AdapterOptions options_;
  std::string directory_;
  std::shared_ptr<LoraSet> set_ = std::make_shared<LoraSet>();
};

}  // namespace millrace::model
