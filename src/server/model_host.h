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
#include "server/hosted_model.h"

namespace millrace::server {

// A model that can be served. `load` runs on the loading thread; it throws LoadError, and may report its progress.
struct ModelEntry {
  std::string name;
  std::vector<std::string> aliases;  // further names that requests may use
  std::function<ModelParts(const std::function<void(double share)>& progress)> load;
  // Estimates the bytes of memory that the loaded model takes; called on the loading thread. Empty function: unknown.
  std::function<std::uint64_t()> expected_bytes;
};

struct HostConfig {
  double idle_seconds = 0.0;     // models unused this long are unloaded; 0 = never
  std::uint64_t memory_cap = 0;  // bytes of all models; idle ones are unloaded to stay below; 0 = no cap
  bool load_at_start = true;     // load the first entry at once
};

enum class ModelState { kUnloaded, kLoading, kReady, kFailed };
std::string_view to_string(ModelState state) noexcept;

struct ModelStatus {
  std::string name;
  ModelState state = ModelState::kUnloaded;
  double progress = 0.0;               // of loading, [0, 1]
  Error error;                         // if kFailed
  std::shared_ptr<HostedModel> model;  // if kReady
};

// The models of a server. Each is loaded at its first request, one at a time, and unloaded when idle or when another
// needs the memory. Thread-safe.
class ModelHost {
 public:
  ModelHost(std::vector<ModelEntry> entries, const HostConfig& config, Env& env);
  ~ModelHost();

  using Then = std::function<void(Result<std::shared_ptr<HostedModel>>)>;
  // The model of that name or alias ("" = the first entry), or an error. Nothing if it must be loaded first: then the
  // loading thread calls `then` with the result; `then` must not block.
  std::optional<Result<std::shared_ptr<HostedModel>>> acquire(std::string_view name, Then then);
  // The model if it is ready, else null. Does not load it.
  std::shared_ptr<HostedModel> ready(std::string_view name);
  // The error for a model that ready() does not return: unknown, or not loaded.
  Error absence(std::string_view name);
  std::vector<ModelStatus> list() const;
  // The status of the first entry.
  ModelStatus first() const;
  // Whether an engine has failed, or has been in one step for longer than step_ms.
  bool engine_failed(double step_ms) const;

  // Rejects new requests and drains all engines: returns when their requests have ended, after limit_ms at the latest.
  void drain(double limit_ms);
  // Stops loading; requests that wait for a model get an error. Returns when the loading thread has ended. No `then` is
  // called afterwards.
  void stop();

 private:
  struct Slot {
    ModelEntry entry;
    ModelState state = ModelState::kUnloaded;
    bool at_start = false;  // until it is loaded for the first time, requests get an error instead of waiting
    double progress = 0.0;
    Error error;
    std::shared_ptr<HostedModel> model;
    TimePoint last_use{};
    std::vector<Then> waiting;
  };
  Slot* find(std::string_view name);
  void run();
  void load(std::unique_lock<std::mutex>& lock, Slot& slot);
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
