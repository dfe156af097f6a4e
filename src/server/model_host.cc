#include "server/model_host.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/thread_name.h"
#include "model/adapters/adapter_store.h"
#include "server/adapter_choice.h"

namespace millrace::server {
namespace {

constexpr std::chrono::milliseconds kLookAround{500};  // for models that have become idle
// A model to be unloaded is looked at so often: what is not a request, such as /metrics, holds it only for a moment.
constexpr int kLooks = 20;
constexpr std::chrono::milliseconds kBriefly{5};

// Whether a text names a path of this machine other than `reference`.
bool tells_of_folders(std::string_view text, std::string_view reference) {
  for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\'';
    if (begins && !text.substr(at).starts_with(reference)) return true;
  }
  return false;
}

// What clients may know of a model that could not be loaded: the reference that leads nowhere, and why.
Error client_error(const ModelEntry& entry, const Error& error) {
  if (error.code != ErrorCode::kNotFound) {
    return make_error(ErrorCode::kInternal, "model", "the model {} could not be loaded: the server's log says why",
                      entry.name);
  }
  std::string reason = error.message.substr(0, std::min(error.message.find(": looked for"), error.message.find(';')));
  if (tells_of_folders(reason, entry.reference)) reason = "the server's log says why";
  return make_error(ErrorCode::kNotFound, "model", "the model {} is not there, as its reference {} leads nowhere: {}",
                    entry.name, entry.reference, reason);
}

}  // namespace

std::string_view to_string(ModelState state) noexcept {
  switch (state) {
    case ModelState::kUnloaded: return "unloaded";
    case ModelState::kLoading: return "loading";
    case ModelState::kReady: return "ready";
    case ModelState::kFailed: return "failed";
  }
  return "";
}

ModelHost::ModelHost(std::vector<ModelEntry> entries, const HostConfig& config, Env& env) : config_(config), env_(env) {
  for (ModelEntry& entry : entries) slots_.push_back({.entry = std::move(entry)});
  if (config.load_at_start && !slots_.empty()) slots_.front().state = ModelState::kLoading;
  if (!slots_.empty()) slots_.front().at_start = config.load_at_start;
  thread_ = std::thread([this] {
    name_thread("models");
    run();
  });
}

ModelHost::~ModelHost() { stop(); }

void ModelHost::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const ModelStatus& status : list()) {
    if (status.model != nullptr && status.model->adapters != nullptr) status.model->adapters->stop();
  }
}

ModelHost::Slot* ModelHost::find(std::string_view name) {
  if (name.empty()) return slots_.empty() ? nullptr : &slots_.front();
  for (Slot& slot : slots_) {
    if (slot.entry.name == name || std::ranges::find(slot.entry.aliases, name) != slot.entry.aliases.end()) {
      return &slot;
    }
  }
  return find_adapter(name);
}

// The slot whose model has an adapter of that name, alone or behind a name of the model, or finds one in its directory.
ModelHost::Slot* ModelHost::find_adapter(std::string_view name) {
  for (Slot& slot : slots_) {
    std::vector<std::string> names = slot.entry.aliases;
    names.push_back(slot.entry.name);
    if (adapter_part(name, names).size() < name.size()) return &slot;
  }
  for (Slot& slot : slots_) {
    if (std::ranges::find(slot.entry.adapters, name) != slot.entry.adapters.end()) return &slot;
    const auto* store = slot.model == nullptr ? nullptr : slot.model->adapters.get();
    if (store != nullptr && store->knows(std::string(name))) return &slot;
  }
  for (Slot& slot : slots_) {
    const auto found = slot.entry.adapter_directory.find(std::string(name));
    if (!found || *found) return &slot;  // what is wrong with it is said by the model's adapters
  }
  return nullptr;
}

std::optional<Result<std::shared_ptr<HostedModel>>> ModelHost::acquire(std::string_view name, Then then) {
  const std::lock_guard lock(mutex_);
  Slot* slot = find(name);
  if (slot == nullptr) return unknown_model();
  if (draining_ || stopping_) return Error{ErrorCode::kUnavailable, "", "the server is shutting down"};
  slot->last_use = env_.now();
  if (slot->state == ModelState::kReady) return slot->model;
  if (slot->state == ModelState::kLoading && slot->at_start) {
    return make_error(ErrorCode::kUnavailable, "model", "the model is loading: {:.0f} % of it is there",
                      100.0 * slot->progress);
  }
  slot->waiting.push_back(std::move(then));
  slot->state = ModelState::kLoading;  // one that failed is tried again: the disk may have come back
  wake_.notify_all();
  return std::nullopt;
}

std::shared_ptr<HostedModel> ModelHost::ready(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const Slot* slot = find(name);
  return slot == nullptr ? nullptr : slot->model;
}

Error ModelHost::absence(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (find(name) != nullptr) return Error{ErrorCode::kUnavailable, "model", "the model is not loaded"};
  return unknown_model();
}

std::vector<ModelStatus> ModelHost::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> out;
  for (const Slot& slot : slots_) {
    out.push_back({slot.entry.name, slot.state, slot.progress, slot.error, slot.model, slot.entry.aliases});
  }
  return out;
}

ModelStatus ModelHost::first() const {
  const std::lock_guard lock(mutex_);
  if (slots_.empty()) return {};
  const Slot& slot = slots_.front();
  return {slot.entry.name, slot.state, slot.progress, slot.error, slot.model, slot.entry.aliases};
}

bool ModelHost::engine_failed(double step_ms) const {
  return std::ranges::any_of(list(), [&](const ModelStatus& status) {
    if (status.model == nullptr) return false;
    const engine::Heartbeat beat = status.model->engine->heartbeat();
    return !beat.alive || beat.last_step_age_ms > step_ms;
  });
}

// Models to let go, the one used longest ago first: those idle for too long, and as many as `needed` bytes take under
// the cap. Held nowhere else, so that destroying them interrupts nothing.
std::vector<std::shared_ptr<HostedModel>> ModelHost::take_idle(std::uint64_t needed, const Slot* keep) {
  std::vector<Slot*> idle;
  std::uint64_t used = needed;
  for (Slot& slot : slots_) {
    if (slot.model == nullptr) continue;
    used += static_cast<std::uint64_t>(slot.model->memory_bytes());
    if (&slot != keep && slot.model.use_count() == 1) idle.push_back(&slot);
  }
  std::ranges::sort(idle, {}, &Slot::last_use);
  std::vector<std::shared_ptr<HostedModel>> gone;
  for (Slot* slot : idle) {
    const bool old =
        config_.idle_seconds > 0.0 && milliseconds_between(slot->last_use, env_.now()) > config_.idle_seconds * 1000.0;
    const bool in_the_way = needed > 0 && config_.memory_cap > 0 && used > config_.memory_cap;
    if (!old && !in_the_way) continue;
    used -= static_cast<std::uint64_t>(slot->model->memory_bytes());
    gone.push_back(taken_from(*slot));
  }
  return gone;
}

// The slot is unloaded; the caller destroys the model, without the lock.
std::shared_ptr<HostedModel> ModelHost::taken_from(Slot& slot) {
  log::info("{}: unloaded", slot.entry.name);
  slot.state = ModelState::kUnloaded;
  slot.progress = 0.0;
  return std::exchange(slot.model, nullptr);
}

Result<void> ModelHost::unload(std::string_view name) {
  std::shared_ptr<HostedModel> gone;
  for (int looks = 0; gone == nullptr; ++looks) {
    if (looks > 0) std::this_thread::sleep_for(kBriefly);
    const std::lock_guard lock(mutex_);
    Slot* slot = find(name);
    if (slot == nullptr) return unknown_model();
    if (slot->state == ModelState::kLoading) {
      return make_error(ErrorCode::kUnavailable, "model", "the model {} is loading", slot->entry.name);
    }
    if (slot->model == nullptr) return {};
    if (slot->model.use_count() == 1) {
      gone = taken_from(*slot);
    } else if (looks == kLooks) {
      return make_error(ErrorCode::kUnavailable, "model",
                        "the model {} is in use: it can be unloaded when its requests have ended and its sessions are "
                        "deleted",
                        slot->entry.name);
    }
  }
  return {};
}

void ModelHost::load(std::unique_lock<std::mutex>& lock, Slot& slot) {
  slot.progress = 0.0;
  lock.unlock();
  const std::uint64_t expected = config_.memory_cap > 0 && slot.entry.expected_bytes ? slot.entry.expected_bytes() : 0;
  lock.lock();
  auto gone = take_idle(expected, &slot);
  lock.unlock();
  gone.clear();
  Result<std::shared_ptr<HostedModel>> loaded = Error{};
  try {
    const auto progress = [&](double share) {
      const std::lock_guard guard(mutex_);
      slot.progress = share;
    };
    loaded = std::make_shared<HostedModel>(slot.entry.name, slot.entry.load(progress), slot.entry.aliases);
  } catch (const LoadError& failure) {
    loaded = failure.error();
  } catch (const std::bad_alloc&) {
    loaded = Error{ErrorCode::kResourceExhausted, "model", "the model does not fit in memory"};
  } catch (const std::exception& failure) {
    loaded = Error{ErrorCode::kInternal, "model", failure.what()};
  }
  lock.lock();
  slot.at_start = false;
  if (loaded) {
    slot.model = *loaded;
    slot.state = ModelState::kReady;
    slot.progress = 1.0;
    slot.last_use = env_.now();
  } else {
    log::error("{}: {}", slot.entry.name, loaded.error().message);
    slot.state = ModelState::kFailed;
    slot.error = loaded.error();
  }
  const auto waiting = std::exchange(slot.waiting, {});
  lock.unlock();
  for (const Then& then : waiting) {
    // What is wrong with a file is the operator's business: it is in the log.
    loaded ? then(*loaded) : then(client_error(slot.entry, loaded.error()));
  }
  if (loaded) (*loaded)->engine->prepare_grammars();
  lock.lock();
}

void ModelHost::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto next = std::ranges::find(slots_, ModelState::kLoading, &Slot::state);
    if (next != slots_.end() && !draining_) {
      load(lock, *next);
      continue;
    }
    auto gone = take_idle(0, nullptr);
    if (!gone.empty()) {
      lock.unlock();
      gone.clear();
      lock.lock();
      continue;
    }
    wake_.wait_for(lock, kLookAround);
  }
  for (Slot& slot : slots_) {
    for (const Then& then : std::exchange(slot.waiting, {})) {
      then(Error{ErrorCode::kUnavailable, "", "the server is shutting down"});
    }
  }
}

void ModelHost::drain(double limit_ms) {
  std::vector<std::shared_ptr<HostedModel>> models;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    for (const Slot& slot : slots_) {
      if (slot.model != nullptr) models.push_back(slot.model);
    }
  }
  std::vector<std::thread> drains;
  for (const auto& model : models) drains.emplace_back([&model, limit_ms] { model->engine->drain(limit_ms); });
  for (std::thread& thread : drains) thread.join();
}

}  // namespace millrace::server
