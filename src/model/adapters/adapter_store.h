#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/adapters/adapter_directory.h"
#include "model/adapters/adapter_residency.h"

namespace millrace::model {

// What becomes of a request for an adapter for which there is no room, as requests use all that could make some.
enum class WhenFull { kQueue, kReject };
// What becomes of requests that wait for an adapter whose name is removed.
enum class WaitingRequests { kFinish, kReject };

// The error for what waits for an adapter, or asks for one, after AdapterStore::stop().
inline Error adapters_stopped() { return {ErrorCode::kUnavailable, "", "the model is being unloaded"}; }

// An adapter that a request uses. Its memory stays as it is as long as the pointer, or a copy of it, lives.
struct AdapterLease {
  std::shared_ptr<const Adapter> adapter;
  std::string name;
  std::int64_t generation = 0;                        // of the name, see AdapterVersion
  std::shared_ptr<const chat::ChatFormat> chat = {};  // of conversations with it alone; null: the model's
  std::string key = {};                               // of its content
};

// An adapter as people see it.
struct AdapterCard {
  std::string name, path;
  std::int64_t generation = 0;
  bool pinned = false, resident = false;
  bool used = false, waited_for = false;  // by requests
  AdapterSummary summary;
  std::size_t bytes = 0;  // in memory now, or when it was there last
};

// Counts since the store was made, but for `resident`, `bytes` and `limit`.
struct AdapterFigures {
  std::int64_t limit = 0;  // AdapterLimits::count
  std::int64_t resident = 0;
  std::uint64_t bytes = 0;
  std::int64_t loads = 0, evictions = 0;
  std::int64_t hits = 0, misses = 0;  // adapters of requests that were in memory, and that were not
};

// The adapters of a loaded model by name: which files they are, which of them are in memory, and how they get there. A
// thread of its own reads files, one adapter after the other, in the order in which they are asked for. Every function
// may be called on any thread, and none but load_pinned() waits for files. Functions given as `then` are called once,
// without a lock, on the store's thread, or the caller's where the outcome is known at once, and must not block.
class AdapterStore {
 public:
  // Reads and packs the adapter of a directory; throws LoadError. Called on the store's thread and by load_pinned().
  using Read = std::function<AdapterContent(const std::string& directory)>;
  struct Config {
    AdapterLimits limits;
    WhenFull when_full = WhenFull::kQueue;
    WaitingRequests waiting = WaitingRequests::kFinish;
    std::string directory;   // adapters inside it may come in while requests are served; empty: none
    bool own_thread = true;  // else its owner reads files: see next_read()
  };

  // `env` must outlive the store.
  AdapterStore(Env& env, Read read, const Config& config)
      : env_(env),
        read_(std::move(read)),
        config_(config),
        directory_(config.directory),
        shared_(new Shared(config.limits)) {}
  ~AdapterStore() { stop(); }
  AdapterStore(const AdapterStore&) = delete;
  AdapterStore& operator=(const AdapterStore&) = delete;

  // Reads an adapter now, on the calling thread, and gives it the name. Errors of `read`, and kInvalidArgument naming
  // max-loras or lora-memory where it does not fit beside the others that are pinned.
  Result<void> load_pinned(const std::string& name, const std::string& directory);

  struct LoadOptions {
    bool pinned = false;
    bool replace = false;  // what has the name already
  };
  using Loaded = std::function<void(Result<AdapterCard>)>;
  // Reads the adapter of `path` inside the store's directory, and gives it the name. Errors of
  // AdapterDirectory::inside() and of `read`; kInvalidArgument naming lora_name where the name is taken;
  // kResourceExhausted as acquire() has it. Nothing has changed then.
  void load(const std::string& name, const std::string& path, const LoadOptions& options, Loaded then);
  // The same for a directory anywhere.
  void load_files(const std::string& name, const std::string& directory, const LoadOptions& options, Loaded then);
  // Forgets the name until an adapter is loaded under it: it is not looked up in the store's directory any more.
  // Requests that have the adapter keep it. Those that wait for it go on waiting, or end with kNotFound, as Config
  // says. False: there is none of that name.
  bool remove(const std::string& name);

  // Whether the name stands for an adapter.
  bool knows(const std::string& name) const;
  // What the name stands for now; the adapter of that name inside the store's directory if there is no other. Null:
  // nothing. Errors of AdapterDirectory::find().
  Result<AdapterRef> find(const std::string& name);
  // AdapterLease::chat of the version, if it was read already.
  std::shared_ptr<const chat::ChatFormat> chat(const AdapterRef& version) const;
  // A version of that content that a name stands for or a request keeps; null: none, or none that was read.
  AdapterRef of_key(const std::string& key) const;
  // Whether the name of a version was removed, and requests for it that have not begun are to end.
  bool rejected(const AdapterRef& version) const;

  using Leases = std::vector<AdapterLease>;
  using Then = std::function<void(Result<Leases>)>;
  // Takes the versions, all of them in memory together. Nothing where they must be waited for; `then` is called in that
  // case. Nothing is read any more once `abandoned` says true; it may be called on any thread, with the store's lock.
  // Errors: those of `read` as kInvalidArgument or kNotFound; kResourceExhausted naming max-loras or lora-memory where
  // there is no room and never will be, or none now and the store does not queue; kUnavailable where the files have
  // changed since they were first read, or the store has stopped; kNotFound where the name was removed.
  std::optional<Result<Leases>> acquire(
      std::vector<AdapterRef> wanted, Then then, std::function<bool()> abandoned = [] { return false; });

  // Takes the versions now, all of them together; nothing where one is not in memory, or where others wait for room and
  // were passed too often. `counted`: as hits.
  std::optional<Leases> take_resident(const std::vector<AdapterRef>& wanted, bool counted = true);
  // What requests are told of the versions before they have them: leases without `adapter`. Nothing where one was never
  // read.
  std::optional<Leases> known(const std::vector<AdapterRef>& wanted) const;

  // For a store without a thread of its own; one thread, and no other function of the store at the same time. The
  // version whose files are to be read next, for which there is room; null: none now. arrived() must follow with what
  // was read of it, or the error, and then next_read() again; requests may come and go in between.
  AdapterRef next_read();
  void arrived(Result<AdapterContent> content);

  std::vector<AdapterCard> list() const;  // with a name, read at least once; sorted by name
  AdapterFigures figures() const;
  // The adapters in memory, for engines.
  const std::shared_ptr<LoraSet>& set() const noexcept { return shared_->residency.set(); }
  // Reads nothing more: what waits gets kUnavailable. Returns when the thread has ended. The owner calls it before what
  // `read` works with goes; leases may end later.
  void stop();

 private:
  using Lock = std::unique_lock<std::mutex>;
  // What leases need of the store when they end, which may be after it.
  struct Shared {
    explicit Shared(const AdapterLimits& limits) : residency(limits) {}
    void release(const AdapterRef& version, std::shared_ptr<const Adapter> adapter);

    std::mutex mutex;  // guards all below, every version, and the store's members that change
    std::condition_variable wake;
    AdapterResidency residency;
    bool changed = false;   // the store's thread has something to look at
    bool waiting = false;   // the first ask waits for room
    bool watching = false;  // the thread runs, and is not ending
  };

  // A request or a load that waits for adapters.
  struct Ask {
    std::vector<AdapterRef> wanted;
    Leases taken;         // of the first of them
    AdapterContent read;  // content of the next one, for which there is no room yet
    bool replaces = false, withdrawn = false;
    std::function<Result<void>()> arrived;  // called with the lock, once all are in memory; may be empty
    std::function<bool()> abandoned = [] { return false; };
    Then then;
  };

  void begin(std::shared_ptr<Ask> ask);
  void run();
  std::optional<Error> make_room(const Ask& ask, const AdapterVersion& version);
  AdapterContent timed_read(const AdapterVersion& version) const;
  Result<AdapterContent> read(const AdapterVersion& version) const;
  Error no_room(const AdapterVersion& version, AdapterResidency::Room room, bool bytes) const;
  void end(Lock& lock, std::shared_ptr<Ask> ask, Result<Leases> with);
  void end_withdrawn(Lock& lock);
  void clear_gone(Lock& lock);
  void give_name(const AdapterRef& version);
  AdapterLease lease(const AdapterRef& version);

  Env& env_;
  const Read read_;
  const Config config_;
  const AdapterDirectory directory_;
  const std::shared_ptr<Shared> shared_;
  std::mutex& mutex_ = shared_->mutex;
  AdapterResidency& residency_ = shared_->residency;
  std::map<std::string, AdapterRef> names_;
  std::set<std::string> removed_;  // names that the directory gives no adapter any more
  std::map<std::string, std::int64_t> generations_;
  std::vector<std::weak_ptr<AdapterVersion>> rejected_;
  std::deque<std::shared_ptr<Ask>> asks_;
  AdapterRef reading_;     // whose files are being read
  int overtaken_ = 0;      // how often it was passed
  bool stopping_ = false;  // for good
  std::int64_t hits_ = 0, misses_ = 0;
  std::thread thread_;  // runs since something was to be done
};

}  // namespace millrace::model
