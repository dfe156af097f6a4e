#include "kv/disk_tier.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/thread_name.h"
#include "kv/segment_set.h"

namespace millrace::kv {
namespace {

// The caller's thread looks pages up, reads them and queues them; the writer (a thread of its own, or the caller)
// owns the file that is being written. `mutex_` guards what both use, and is never held over reading or writing.
class SegmentedDiskTier final : public DiskTier {
 public:
  SegmentedDiskTier(Env& env, const DiskTierConfig& config, std::unique_ptr<HeldLock> lock)
      : env_(env),
        config_(config),
        header_{config.origin.model_key, config.origin.page_bytes},
        record_bytes_(record_bytes(config.origin.page_bytes)),
        lock_(std::move(lock)),
        set_(env, config.directory, header_),
        writing_(lock_ != nullptr) {
    config_.segment_bytes = std::min(config_.segment_bytes, config_.limit_bytes / 4);
    set_.open();
    if (const std::size_t n = set_.foreign_segments(); n > 0) {
      log::info("{}: {} of {} segments are of another model or version and are dropped first", config_.directory, n,
                set_.segments());
    }
    if (writing_ && config_.background) {
      thread_ = std::thread([this] {
        name_thread("disk-tier");
        write_queue();
      });
    }
  }
  ~SegmentedDiskTier() override {
    if (thread_.joinable()) {
      {
        const std::lock_guard guard(mutex_);
        closing_ = true;
      }
      queued_.notify_one();
      thread_.join();
    }
    if (!file_) return;
    if (auto finished = finish_segment(); !finished) stop(finished.error());
  }

  const PageOrigin& origin() const noexcept override { return config_.origin; }
  bool writing() const override {
    const std::lock_guard guard(mutex_);
    return writing_;
  }
  bool contains(const PageKey& key) const override {
    const std::lock_guard guard(mutex_);
    return set_.contains(key);
  }
  double load_ms_per_page() const override { return load_ms_; }
  DiskTierUse use() const override {
    const std::lock_guard guard(mutex_);
    DiskTierUse use = counts_;
    use.pages = static_cast<std::int64_t>(set_.pages());
    use.segments = static_cast<std::int64_t>(set_.segments());
    use.bytes = set_.bytes();
    use.writing = writing_;
    return use;
  }

  void put(const PageKey& key, std::span<const std::byte> page) override;
  bool get(const PageKey& key, std::span<std::byte> page) override;
  void remove(const PageKey& key) override;
  void clear() override;

 private:
  void write_queue();
  Result<void> remove_segment(const PageKey& key);
  Result<void> remove_all();
  Result<void> write(const PageKey& key, std::span<const std::byte> page);
  Result<void> start_segment();
  Result<void> finish_segment();
  Result<void> write_index();
  Result<void> make_room();
  void stop(const Error& error);

  Env& env_;
  DiskTierConfig config_;
  SegmentHeader header_;
  std::uint64_t record_bytes_;
  std::unique_ptr<HeldLock> lock_;

  // The writer's.
  std::unique_ptr<WritableFile> file_;
  std::uint64_t number_ = 0, position_ = 0;

  // The caller's.
  double load_ms_ = 0;

  mutable std::mutex mutex_;
  SegmentSet set_;
  bool writing_;
  DiskTierUse counts_;
  std::set<PageKey> waiting_;
  // To be written; with an empty page to be removed, and without a key all that there is.
  struct Queued {
    std::optional<PageKey> key;
    std::vector<std::byte> page;
  };
  std::deque<Queued> queue_;
  bool closing_ = false;
  std::condition_variable queued_;
  std::thread thread_;
};

void SegmentedDiskTier::put(const PageKey& key, std::span<const std::byte> page) {
  {
    const std::lock_guard guard(mutex_);
    if (!writing_ || set_.contains(key) || waiting_.contains(key)) return;
    if (config_.background) {
      if ((queue_.size() + 1) * page.size() > config_.queue_bytes) {
        ++counts_.dropped;
        return;
      }
      waiting_.insert(key);
      queue_.push_back({key, {page.begin(), page.end()}});
    }
  }
  if (config_.background) {
    queued_.notify_one();
  } else if (auto written = write(key, page); !written) {
    stop(written.error());
  }
}

// Told to the writer in its turn, as the page may be in the queue itself.
void SegmentedDiskTier::remove(const PageKey& key) {
  {
    const std::lock_guard guard(mutex_);
    set_.hide(key);
    if (!lock_) return;
    if (config_.background) queue_.push_back({key, {}});
  }
  if (config_.background) {
    queued_.notify_one();
  } else if (auto removed = remove_segment(key); !removed) {
    stop(removed.error());
  }
}

Result<void> SegmentedDiskTier::remove_segment(const PageKey& key) {
  std::optional<std::uint64_t> number;
  {
    const std::lock_guard guard(mutex_);
    number = set_.drop_segment_of(key);
  }
  if (!number) return {};
  if (*number == number_) file_.reset();
  return env_.remove(set_.path_of(*number));
}

// Likewise: a page may be on its way into a file.
void SegmentedDiskTier::clear() {
  {
    const std::lock_guard guard(mutex_);
    set_.hide_all();
    if (!lock_) return;
    if (config_.background) queue_.push_back({std::nullopt, {}});
  }
  if (config_.background) {
    queued_.notify_one();
  } else if (auto removed = remove_all(); !removed) {
    stop(removed.error());
  }
}

Result<void> SegmentedDiskTier::remove_all() {
  file_.reset();
  for (;;) {
    std::optional<std::uint64_t> number;
    {
      const std::lock_guard guard(mutex_);
      number = set_.drop_own();
    }
    if (!number) return {};
    if (auto removed = env_.remove(set_.path_of(*number)); !removed) return removed;
  }
}

bool SegmentedDiskTier::get(const PageKey& key, std::span<std::byte> page) {
  std::optional<SegmentSet::Place> place;
  {
    const std::lock_guard guard(mutex_);
    place = set_.find(key);
  }
  if (!place) return false;
  const TimePoint start = env_.now();
  const bool good = read_record(*place->file, place->offset, key, page);
  const double took = milliseconds_between(start, env_.now());
  load_ms_ = load_ms_ == 0 ? took : load_ms_ + (took - load_ms_) / 8;
  const std::lock_guard guard(mutex_);
  if (!good) set_.hide(key);
  ++(good ? counts_.loaded : counts_.damaged);
  return good;
}

void SegmentedDiskTier::write_queue() {
  std::unique_lock guard(mutex_);
  for (;;) {
    queued_.wait(guard, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto [key, page] = std::move(queue_.front());
    queue_.pop_front();
    if (page.empty() || writing_) {
      guard.unlock();
      const auto done = !key ? remove_all() : page.empty() ? remove_segment(*key) : write(*key, page);
      if (!done) stop(done.error());
      guard.lock();
    }
    if (key) waiting_.erase(*key);
  }
}

Result<void> SegmentedDiskTier::write(const PageKey& key, std::span<const std::byte> page) {
  if (file_ && position_ + record_bytes_ > config_.segment_bytes) {
    if (auto finished = finish_segment(); !finished) return finished;
  }
  if (auto room = make_room(); !room) return room;
  if (!file_) {
    if (auto started = start_segment(); !started) return started;
  }
  if (auto written = append_record(*file_, position_, key, page); !written) return written;
  const std::lock_guard guard(mutex_);
  set_.add_page(number_, {key, position_});
  ++counts_.put;
  position_ += record_bytes_;
  return {};
}

Result<void> SegmentedDiskTier::start_segment() {
  {
    const std::lock_guard guard(mutex_);
    number_ = set_.next_number();
  }
  const std::string path = set_.path_of(number_);
  auto file = env_.create(path);
  if (!file) return file.error();
  if (auto written = append_segment_header(**file, header_); !written) return written;
  auto reader = env_.open(path);
  if (!reader) return reader.error();
  file_ = std::move(*file);
  position_ = kSegmentHeaderBytes;
  const std::lock_guard guard(mutex_);
  set_.add_segment(number_, std::move(*reader));
  return {};
}

// A segment of which the disk has everything may stand in the index.
Result<void> SegmentedDiskTier::finish_segment() {
  const auto synced = file_->sync();
  file_.reset();
  return synced ? write_index() : synced;
}

Result<void> SegmentedDiskTier::write_index() {
  std::string text;
  {
    const std::lock_guard guard(mutex_);
    if (!writing_) return {};
    text = set_.encoded_index();
  }
  const std::string temporary = set_.index_path() + ".tmp";
  auto file = env_.create(temporary);
  if (!file) return file.error();
  if (auto written = (*file)->append(std::as_bytes(std::span(text))); !written) return written;
  if (auto synced = (*file)->sync(); !synced) return synced;
  return env_.rename(temporary, set_.index_path());
}

Result<void> SegmentedDiskTier::make_room() {
  const std::uint64_t needed = record_bytes_ + (file_ ? 0 : kSegmentHeaderBytes);
  for (;;) {
    std::optional<std::uint64_t> dropped;
    {
      const std::lock_guard guard(mutex_);
      if (set_.bytes() + needed <= config_.limit_bytes) return {};
      dropped = set_.drop_one(file_ ? number_ : 0);
    }
    if (!dropped) {
      return make_error(ErrorCode::kResourceExhausted, "limit", "{}: a page of {} bytes exceeds the limit of {}",
                        config_.directory, config_.origin.page_bytes, config_.limit_bytes);
    }
    if (auto removed = env_.remove(set_.path_of(*dropped)); !removed) return removed;
  }
}

void SegmentedDiskTier::stop(const Error& error) {
  {
    const std::lock_guard guard(mutex_);
    if (!writing_) return;
    writing_ = false;
  }
  file_.reset();
  log::warn("no more pages are kept on disk: {}", error.message);
}

}  // namespace

Result<std::unique_ptr<DiskTier>> DiskTier::open(Env& env, const DiskTierConfig& config) {
  auto made = env.create_directories(config.directory);
  auto lock = env.lock(config.directory + "/lock");
  if (!lock) {
    if (!made) return made.error();
    if (lock.error().code == ErrorCode::kResourceExhausted) {
      log::info("pages are not kept on disk: {}", lock.error().message);
    } else {
      log::warn("pages are not kept on disk: {}", lock.error().message);
    }
  }
  return std::unique_ptr<DiskTier>(std::make_unique<SegmentedDiskTier>(env, config, lock ? std::move(*lock) : nullptr));
}

}  // namespace millrace::kv
