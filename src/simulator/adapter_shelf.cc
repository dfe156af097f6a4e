#include "simulator/adapter_shelf.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backend/shape_backend.h"

namespace millrace::simulator {
namespace {

using model::AdapterRef;
using model::AdapterStore;

constexpr int kMaxLoads = 4;     // at once: more are read later than they are asked for, and requests wait behind
constexpr int kUnreadable = 40;  // one in so many reads fails

std::string name_of(std::int64_t number) { return std::string(1, static_cast<char>('a' + number)); }

}  // namespace

AdapterShelf::AdapterShelf(const Scenario& scenario, const MemoryEnv& env, Verdict& verdict, Coverage& coverage)
    : scenario_(scenario),
      env_(env),
      verdict_(verdict),
      coverage_(coverage),
      random_(rng::mix(scenario.seed ^ 0x5e1f)) {}

void AdapterShelf::open() {
  const AdapterTraffic& traffic = scenario_.adapters;
  store_ = std::make_shared<AdapterStore>(Env::system(), AdapterStore::Read(),
                                          AdapterStore::Config{.limits = traffic.limits,
                                                               .when_full = traffic.full,
                                                               .waiting = traffic.waiting,
                                                               .directory = {},
                                                               .own_thread = false});
  current_.clear();
  for (int i = 0; i < traffic.names; ++i) load(name_of(i), random_options(name_of(i)));
}

void AdapterShelf::close() {
  reading_.reset();
  if (store_ != nullptr) store_->stop();
  store_ = nullptr;
}

AdapterStore::LoadOptions AdapterShelf::random_options(const std::string& name) {
  const bool pinned = name == "a" && scenario_.adapters.limits.count != 1 && random_.chance(15);
  pinned_ = pinned_ || pinned;
  return {.pinned = pinned, .replace = random_.chance(85)};
}

// A content that no other has, at a path of its own, or at times the one that the name had before.
void AdapterShelf::load(const std::string& name, const AdapterStore::LoadOptions& options) {
  const bool again = current_.contains(name) && random_.chance(15);
  const std::string path = again ? current_.at(name) : fmt::format("{}{}", name, ++contents_);
  files_.try_emplace(path, path);
  ++loads_;
  store_->load_files(name, path, options, [this, name, path](const Result<model::AdapterCard>& card) {
    --loads_;
    if (!card) return;
    coverage_.count(current_.contains(name) ? Event::kAdapterReplaced : Event::kAdapterLoaded);
    current_[name] = path;
  });
}

void AdapterShelf::equip(engine::Request& request) {
  if (empty() || !random_.chance(scenario_.adapters.percent)) return;
  std::vector<AdapterRef> wanted;
  const int n = random_.chance(20) ? 2 : 1;
  const std::int64_t last = scenario_.adapters.names - 1;
  for (int i = 0; i < n; ++i) {
    const std::string name = name_of(std::min(random_.in(0, last), random_.in(0, last)));
    if (!store_->knows(name)) continue;
    const AdapterRef version = store_->find(name).or_throw();
    if (version->path != current_.at(name)) verdict_.fail("A1", 0, "{} stands for an earlier adapter", name);
    note(version);
    const bool twice = std::ranges::any_of(wanted, [&](const AdapterRef& one) { return one->key == version->key; });
    if (!twice) wanted.push_back(version);
  }
  auto known = wanted.empty() ? std::nullopt : store_->known(wanted);
  if (!known) return;
  const auto held = random_.chance(15) ? store_->take_resident(wanted) : std::nullopt;
  for (std::size_t i = 0; i < known->size(); ++i) {
    const float scale = random_.chance(80) ? 1.0f : 0.5f;
    request.adapters.push_back({(*known)[i].key, scale, held ? (*held)[i].adapter : nullptr});
  }
}

bool AdapterShelf::may_refuse(const engine::Request& request, const Error& error) const {
  if (request.adapters.empty()) return false;
  const AdapterTraffic& traffic = scenario_.adapters;
  switch (error.code) {
    case ErrorCode::kResourceExhausted:
      return (error.param == "max-loras" || error.param == "lora-memory") &&
             (traffic.full == model::WhenFull::kReject || pinned_ || request.adapters.size() > 1);
    case ErrorCode::kNotFound: return removed_ && traffic.waiting == model::WaitingRequests::kReject;
    case ErrorCode::kUnavailable: return damaged_ && error.param == "lora_name";
    default: return false;
  }
}

void AdapterShelf::change() {
  if (empty() || calm_ || !random_.one_in(scenario_.adapters.changes)) return;
  const std::string name = name_of(random_.in(0, scenario_.adapters.names - 1));
  if (random_.chance(65)) {
    if (loads_ < kMaxLoads) load(name, random_options(name));
    return;
  }
  if (random_.chance(70)) {
    if (!store_->remove(name)) return;
    removed_ = true;
    current_.erase(name);
    return coverage_.count(Event::kAdapterRemoved);
  }
  if (!current_.contains(name) || !scenario_.adapters.damage) return;
  damaged_ = true;
  files_[current_.at(name)] = fmt::format("damage {}", ++contents_);
}

Result<model::AdapterContent> AdapterShelf::content_of(const std::string& path) {
  if (scenario_.adapters.damage && !calm_ && random_.one_in(kUnreadable)) {
    damaged_ = true;
    return make_error(ErrorCode::kInvalidArgument, "r", "{} cannot be read", path);
  }
  auto adapter = read_for_rank(path);
  made_.push_back(adapter);
  return model::AdapterContent{std::move(adapter)};
}

std::shared_ptr<const model::Adapter> AdapterShelf::read_for_rank(const std::string& path) const {
  std::vector<std::unique_ptr<backend::LowRank>> weights;
  weights.push_back(std::make_unique<backend::HeldLowRank>(backend::LowRankSource{},
                                                           1 + static_cast<std::size_t>(path[0] - 'a') % 3));
  return std::make_shared<const model::Adapter>(files_.at(path), model::AdapterSummary{}, std::move(weights),
                                                model::AdapterOrigin{.path = path});
}

void AdapterShelf::read_until(TimePoint now) {
  if (empty()) return;
  for (;;) {
    if (!reading_) {
      const AdapterRef version = store_->next_read();
      if (version == nullptr) return;
      note(version);
      const auto takes = std::chrono::duration<double, std::milli>(scenario_.adapters.read_ms * 2.0 * random_.unit());
      reading_ = {version->path, env_.time + std::chrono::duration_cast<Clock::duration>(takes)};
    }
    if (now < reading_->until) return;
    const std::string path = std::exchange(reading_, std::nullopt)->path;
    store_->arrived(content_of(path));
  }
}

std::optional<TimePoint> AdapterShelf::next_event() const {
  return reading_ ? std::optional(reading_->until) : std::nullopt;
}

bool AdapterShelf::busy() const {
  return reading_ || std::ranges::any_of(versions_, [](const auto& one) {
           const AdapterRef version = one.lock();
           return version != nullptr && version->uses > 0;
         });
}

void AdapterShelf::note(const AdapterRef& version) {
  std::erase_if(versions_, [](const auto& one) { return one.expired(); });
  if (std::ranges::none_of(versions_, [&](const auto& one) { return one.lock() == version; })) {
    versions_.push_back(version);
  }
}

void AdapterShelf::check() {
  if (empty()) return;
  std::int64_t count = 0, resident = 0;
  std::uint64_t bytes = 0;
  for (const auto& one : versions_) {
    const AdapterRef version = one.lock();
    if (version != nullptr && version->uses > 0 && version->adapter == nullptr) {
      verdict_.fail("A2", 0, "{} has left memory, and requests use it", version->name);
    }
    if (version == nullptr || version->adapter == nullptr) continue;
    ++resident;
    if (version->adapter->key() != version->key) verdict_.fail("A1", 0, "{} has another content", version->name);
    if (version->named) {
      ++count;
      bytes += version->bytes;
    } else if (version->uses == 0) {
      verdict_.fail("A2", 0, "{} of an earlier load is in memory, and no request has it", version->name);
    }
  }
  std::erase_if(made_, [](const auto& one) { return one.expired(); });
  if (std::ssize(made_) > resident + 1) {  // one has been read, and waits for room
    verdict_.fail("A2", 0, "{} adapters are in memory, the store knows of {}", made_.size(), resident);
  }
  const model::AdapterLimits& limits = scenario_.adapters.limits;
  if ((limits.count > 0 && count > limits.count) || (limits.bytes > 0 && bytes > limits.bytes)) {
    verdict_.fail("A2", 0, "{} adapters of {} bytes are in memory, the limits are {} and {}", count, bytes,
                  limits.count, limits.bytes);
  }
}

void AdapterShelf::check_end() {
  if (empty()) return;
  read_until(TimePoint::max());  // what is read for requests that have gone
  for (const auto& one : versions_) {
    const AdapterRef version = one.lock();
    if (version != nullptr && version->uses != 0) {
      verdict_.fail("A4", 0, "{} is used {} times at the end", version->name, version->uses);
    }
  }
  coverage_.count(Event::kAdapterEvicted, store_->figures().evictions);
  for (int i = 0; i < scenario_.adapters.names; ++i) store_->remove(name_of(i));
  close();
  for (const auto& one : made_) {
    if (const auto left = one.lock()) verdict_.fail("A4", 0, "{} is still in memory at the end", left->key());
  }
}

}  // namespace millrace::simulator
