#include "hub/pull.h"

#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/readable_bytes.h"
#include "checkpoint/quote_name.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;

// Passes everything on, and tells the other workers when one has failed.
class SharedObserver final : public PullObserver {
 public:
  explicit SharedObserver(PullObserver& inner) : inner_(inner) {}
  void planned(const std::string& what, std::uint64_t total, std::uint64_t present) override {
    inner_.planned(what, total, present);
  }
  void advanced(std::int64_t bytes) override { inner_.advanced(bytes); }
  void finished(const std::string& file, std::uint64_t bytes) override { inner_.finished(file, bytes); }
  void note(const std::string& text) override { inner_.note(text); }
  bool cancelled() const override { return failed_.load(std::memory_order_relaxed) || inner_.cancelled(); }
  void fail() { failed_.store(true, std::memory_order_relaxed); }

 private:
  PullObserver& inner_;
  std::atomic<bool> failed_{false};
};

// A sleep of a worker ends when another has failed.
class SharedPause final : public Pause {
 public:
  SharedPause(Pause& inner, const PullObserver& observer) : inner_(inner), observer_(observer) {}
  std::chrono::system_clock::time_point now() const override { return inner_.now(); }
  bool sleep(std::chrono::milliseconds time) override {
    constexpr std::chrono::milliseconds kSlice{200};
    for (; time.count() > 0; time -= kSlice) {
      if (observer_.cancelled() || !inner_.sleep(std::min(time, kSlice))) return false;
    }
    return !observer_.cancelled();
  }

 private:
  Pause& inner_;
  const PullObserver& observer_;
};

class Pull {
 public:
  Pull(const HubSettings& settings, const PullRequest& request, const PullWorld& world)
      : settings_(settings),
        request_(request),
        world_(world),
        observer_(world.observer),
        pause_(world.pause, observer_),
        transport_(world.client, settings, world.retry, pause_, observer_),
        cache_(settings.cache_root),
        context_{transport_, cache_, pause_, observer_, world.open_partial} {}

  Result<PullResult> run() {
    const std::string& name = request_.reference.name;
    auto repository = fetch_repository(transport_, name, request_.reference.revision);
    if (!repository) return repository.error();
    repository_ = *std::move(repository);
    if (auto chosen = choose(); !chosen) return chosen.error();
    if (auto planned = plan(); !planned) return planned.error();
    if (request_.dry_run) return std::move(result_);
    if (unlinked_.empty()) {
      // All there: a cache that only others may write is as good, even if its ref lags behind.
      (void)cache_.write_ref(name, request_.reference.revision, repository_.commit);
      return std::move(result_);
    }
    if (auto made = cache_.create(name); !made) return made.error();
    if (auto room = check_room(); !room) return room.error();
    observer_.planned(request_.reference.text(), result_.total_bytes, result_.total_bytes - result_.fetched_bytes);
    if (auto fetched = fetch_all(); !fetched) return fetched.error();
    for (const RepositoryFile& file : unlinked_) {
      if (auto linked = cache_.link(name, repository_.commit, file.name, file.etag); !linked) return linked.error();
    }
    if (auto done = cache_.write_ref(name, request_.reference.revision, repository_.commit); !done) return done.error();
    return std::move(result_);
  }

 private:
  Result<void> choose() {
    auto choice = choose_model(repository_.name, repository_.files, request_.reference.selector,
                               [this](const RepositoryFile& file) { return read_index(file); });
    if (!choice) return choice.error();
    const auto taken = [&](const std::string& name) {
      return std::ranges::find(choice->metadata, name) != choice->metadata.end() ||
             std::ranges::find(choice->weights, name) != choice->weights.end();
    };
    for (const std::string& pattern : request_.include) {
      bool found = false;
      for (const RepositoryFile& file : repository_.files) {
        if (::fnmatch(pattern.c_str(), file.name.c_str(), 0) != 0) continue;
        found = true;
        if (!taken(file.name)) choice->metadata.push_back(file.name);
      }
      if (!found) {
        return make_error(ErrorCode::kNotFound, "include", "{}: no file is like {}", repository_.name,
                          checkpoint::quote_name(pattern));
      }
    }
    result_.choice = *std::move(choice);
    return {};
  }

  // The index names the shards, so it is fetched before there is a plan.
  Result<std::string> read_index(RepositoryFile file) {
    if (auto known = complete_file(transport_, repository_, file); !known) return known.error();
    if (request_.dry_run) {
      auto text = transport_.get_text(file_url(settings_, repository_, file.name), kMaxIndexBytes);
      if (text.answer.response() != nullptr && text.answer.response()->status == 200) return text.body;
      return hub_error(text.answer, settings_, repository_.name, request_.reference.revision, file.name);
    }
    const fs::path linked = cache_.snapshot(repository_.name, repository_.commit) / file.name;
    if (is_linked(file)) return read_file(Env::system(), linked.string(), kMaxIndexBytes);
    if (auto made = cache_.create(repository_.name); !made) return made.error();
    SilentObserver silent(observer_);
    const DownloadContext context{transport_, cache_, pause_, silent, world_.open_partial};
    if (auto fetched = download_file(context, repository_, file); !fetched) return fetched.error();
    return read_file(Env::system(), cache_.blob(repository_.name, file.etag).string(), kMaxIndexBytes);
  }

  // Before the plan there is no bar to move.
  class SilentObserver final : public PullObserver {
   public:
    explicit SilentObserver(PullObserver& inner) : inner_(inner) {}
    void planned(const std::string&, std::uint64_t, std::uint64_t) override {}
    void advanced(std::int64_t) override {}
    void finished(const std::string&, std::uint64_t) override {}
    void note(const std::string& text) override { inner_.note(text); }
    bool cancelled() const override { return inner_.cancelled(); }

   private:
    PullObserver& inner_;
  };

  // The snapshot has the file, whichever process put it there and whatever its blob is called.
  bool is_linked(const RepositoryFile& file) const {
    const fs::path path = cache_.snapshot(repository_.name, repository_.commit) / file.name;
    std::error_code error;
    return cache_.holds(path) && fs::file_size(path, error) == file.size && !error;
  }

  Result<void> plan() {
    std::vector<std::string> names = result_.choice.metadata;
    names.insert(names.end(), result_.choice.weights.begin(), result_.choice.weights.end());
    for (const std::string& name : names) {
      RepositoryFile file = *find_file(repository_.files, name);
      if (auto known = complete_file(transport_, repository_, file); !known) return known;
      const bool linked = is_linked(file);
      const bool present = linked || blob_is_there(cache_, repository_.name, file);
      result_.files.push_back({name, file.size, present});
      result_.total_bytes += file.size;
      if (!linked) unlinked_.push_back(file);
      // Files of the same content are one blob.
      if (present || std::ranges::find(missing_, file.etag, &RepositoryFile::etag) != missing_.end()) continue;
      result_.fetched_bytes += file.size - partial_bytes(cache_, repository_.name, file);
      missing_.push_back(std::move(file));
    }
    result_.commit = repository_.commit;
    const fs::path snapshot = cache_.snapshot(repository_.name, repository_.commit);
    result_.path = (result_.choice.entry.empty() ? snapshot : snapshot / result_.choice.entry).string();
    return {};
  }

  Result<void> check_room() const {
    const auto free = world_.free_bytes(settings_.cache_root);
    if (!free || result_.fetched_bytes <= *free) return {};
    return make_error(ErrorCode::kResourceExhausted, "disk", "{}: {} needed in {}, {} free", request_.reference.text(),
                      readable_bytes(static_cast<double>(result_.fetched_bytes)), settings_.cache_root,
                      readable_bytes(static_cast<double>(*free)));
  }

  // Workers take one file after the other; the first failure stops them all.
  Result<void> fetch_all() {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Result<void> outcome;
    const auto work = [&] {
      for (std::size_t i; (i = next.fetch_add(1)) < missing_.size();) {
        auto fetched = fetch_one(missing_[i]);
        if (fetched) continue;
        const std::lock_guard lock(mutex);
        if (outcome) outcome = std::move(fetched);  // what follows is the stop of the others
        observer_.fail();
        return;
      }
    };
    const auto workers = std::min<std::size_t>(missing_.size(), static_cast<std::size_t>(request_.max_workers));
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    return outcome;
  }

  // On a worker's thread, which no exception may leave.
  Result<void> fetch_one(const RepositoryFile& file) const {
    try {
      return download_file(context_, repository_, file);
    } catch (const std::bad_alloc&) {
      return make_error(ErrorCode::kResourceExhausted, file.name, "{}: out of memory", repository_.name);
    } catch (const std::exception& failure) {
      return make_error(ErrorCode::kInternal, file.name, "{}: {}", repository_.name, failure.what());
    }
  }

  const HubSettings& settings_;
  const PullRequest& request_;
  const PullWorld& world_;
  SharedObserver observer_;
  SharedPause pause_;
  HubTransport transport_;
  CacheLayout cache_;
  DownloadContext context_;
  RepositoryInfo repository_;
  std::vector<RepositoryFile> unlinked_;  // not in the snapshot yet, in the order of linking
  std::vector<RepositoryFile> missing_;   // those without a blob, each content once
  PullResult result_;
};

}  // namespace

Result<PullResult> pull(const HubSettings& settings, const PullRequest& request, const PullWorld& world) {
  if (settings.offline) {
    return make_error(ErrorCode::kNotFound, "model", "{}: offline: nothing is downloaded", request.reference.text());
  }
  if (settings.cache_root.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "cache", "no Hugging Face cache is known: set HF_HOME");
  }
  return Pull(settings, request, world).run();
}

}  // namespace millrace::hub
