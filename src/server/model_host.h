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

// A model that can be served. `load` runs on the host's thread; it throws LoadError and may report its progress.
struct ModelEntry {
  std::string name;
  std::vector<std::string> aliases;  // further names that requests may use
  std::function<ModelParts(const std::function<void(double share)>& progress)> load;
  // Bytes of memory that it will take, as far as known before loading; asked on the host's thread. Empty: unknown.
  std::function<std::uint64_t()> expected_bytes;
};

struct HostConfig {
  double idle_seconds = 0.0;     // unload what was not asked for so long; 0 = never
  std::uint64_t memory_cap = 0;  // bytes of all models together; idle ones go to make room; 0 = no cap
  bool load_at_start = true;     // the first entry
};

enum class ModelState { kUnloaded, kLoading, kReady, kFailed };
std::string_view to_string(ModelState state) noexcept;

struct ModelStatus {
  std::string name;
  ModelState state = ModelState::kUnloaded;
  double progress = 0.0;               // of loading, [0, 1]
  Error error;                         // where failed
  std::shared_ptr<HostedModel> model;  // where ready
};

// The models of a server: loaded when first asked for, one after the other, unloaded when idle or when others need the
// memory. Thread-safe.
class ModelHost {
 public:
  ModelHost(std::vector<ModelEntry> entries, const HostConfig& config, Env& env);
  ~ModelHost();

  using Then = std::function<void(Result<std::shared_ptr<HostedModel>>)>;
  // The model of that name, "" = the first, or why it cannot be had; nothing where it is yet to be loaded: then the
  // loading thread calls `then`, which must not block.
  std::optional<Result<std::shared_ptr<HostedModel>>> acquire(std::string_view name, Then then);
  // Without waiting or loading; null unless ready.
  std::shared_ptr<HostedModel> ready(std::string_view name);
  // Why there is none: unknown, or not loaded.
  Error absence(std::string_view name);
  std::vector<ModelStatus> list() const;
  // The first entry's.
  ModelStatus first() const;
  // An engine has failed, or a step of it takes longer than that.
  bool engine_failed(double step_ms) const;

  // No more requests; returns when all have ended, at the latest after the time.
  void drain(double limit_ms);
  // Loads nothing more; who waits for a model is told so. Returns when the loading thread has ended: from then on no
  // `then` is called.
  void stop();

 private:
  struct Slot {
    ModelEntry entry;
    ModelState state = ModelState::kUnloaded;
    bool at_start = false;  // requests are told to come back, and do not wait, until it is loaded for the first time
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
