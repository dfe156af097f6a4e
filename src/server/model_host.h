#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/env.h"
#include "model/adapters/adapter_directory.h"
#include "server/hosted_model.h"

namespace millrace::server {

// A model that can be served.
struct ModelEntry {
  std::string name;
  std::vector<std::string> aliases;                // further names that requests may use
  std::vector<std::string> adapters = {};          // names of those that come with it
  model::AdapterDirectory adapter_directory = {};  // where more of them are found by name
  std::string reference = {};  // what the operator gave: a path, or a name on the hub; empty: unknown
  // Loads the model, on the host's thread, and throws LoadError where that fails. May call `progress` from any thread
  // with the share that is loaded, in [0, 1], until it returns.
  std::function<ModelParts(const std::function<void(double share)>& progress)> load;
  // Bytes of memory that the model will take, as far as known before loading. Called on the host's thread, only where
  // there is a memory cap. Empty: unknown.
  std::function<std::uint64_t()> expected_bytes;
};

struct HostConfig {
  double idle_seconds = 0.0;  // models that were not asked for during this time are unloaded; 0 = never
  // Bytes of all models together; unused models are unloaded to make room. A model is loaded even if it does not fit
  // then. 0 = no cap.
  std::uint64_t memory_cap = 0;
  bool load_at_start = true;  // loads the first entry at once
};

enum class ModelState { kUnloaded, kLoading, kReady, kFailed };
std::string_view to_string(ModelState state) noexcept;

struct ModelStatus {
  std::string name;
  ModelState state = ModelState::kUnloaded;
  double progress = 0.0;               // share of the model that is loaded, [0, 1]
  Error error;                         // set for kFailed
  std::shared_ptr<HostedModel> model;  // null except for kReady
  std::vector<std::string> aliases;
};

// The models of a server. One thread loads them one after the other, when they are first asked for, and unloads them
// when they are idle or others need the memory. A model is unloaded only while the host alone holds it. Thread-safe.
class ModelHost {
 public:
  // Starts the loading thread. `env` must outlive the host.
  ModelHost(std::vector<ModelEntry> entries, const HostConfig& config, Env& env);
  ~ModelHost();

  using Then = std::function<void(Result<std::shared_ptr<HostedModel>>)>;
  // The model of that name or alias ("" = the first entry), or an error: kNotFound for an unknown name, kUnavailable
  // naming the progress while the model of load_at_start loads for the first time, and kUnavailable once drain() or
  // stop() was called. Nothing where the model must be loaded first; the loading thread then calls `then`, once, with
  // the model or an error. `then` must not block. A model that failed to load is tried again.
  std::optional<Result<std::shared_ptr<HostedModel>>> acquire(std::string_view name, Then then);
  // The model of that name or alias, without waiting or loading; null unless it is ready.
  std::shared_ptr<HostedModel> ready(std::string_view name);
  // The error for a name for which ready() gave null: kNotFound for an unknown name, else kUnavailable.
  Error absence(std::string_view name);
  // Unloads the model of that name or alias; nothing where it is not loaded. kNotFound for an unknown name,
  // kUnavailable while the model loads or others hold it, such as requests and sessions. Blocks while the model is
  // destroyed.
  Result<void> unload(std::string_view name);
  // The state of every model, in the order of the entries. A ModelStatus keeps its model from being unloaded.
  std::vector<ModelStatus> list() const;
  // The state of the first entry; a default ModelStatus where there are no entries.
  ModelStatus first() const;
  // Whether an engine of a loaded model has failed, or has been in one step for more than `step_ms`.
  bool engine_failed(double step_ms) const;

  // Rejects further requests and loads, and waits until the requests of all engines have ended; after `limit_ms` the
  // engines cancel the rest.
  void drain(double limit_ms);
  // Loads nothing more; every waiting `then` gets kUnavailable. Returns when the loading thread has ended, which first
  // finishes a load under way; no `then` is called after that, nor one of an adapter store. May be called again; not
  // from `then`.
  void stop();

 private:
  struct Slot {
    ModelEntry entry;
    ModelState state = ModelState::kUnloaded;
    // The first load, that of load_at_start, has not ended: acquire() rejects with kUnavailable instead of waiting.
    bool at_start = false;
    double progress = 0.0;
    Error error;
    std::shared_ptr<HostedModel> model;
    TimePoint last_use{};
    std::vector<Then> waiting;
  };
  Slot* find(std::string_view name);
  Slot* find_adapter(std::string_view name);
  void run();
  void load(std::unique_lock<std::mutex>& lock, Slot& slot);
  static std::shared_ptr<HostedModel> taken_from(Slot& slot);
  std::vector<std::shared_ptr<HostedModel>> take_idle(std::uint64_t needed, const Slot* keep);

  const HostConfig config_;
  Env& env_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Slot> slots_;
  bool stopping_ = false, draining_ = false;
  std::thread thread_;
};

}  // namespace millrace::server
