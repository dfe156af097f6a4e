#include "comm/transports/shm.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/worker_team.h"
#include "comm/transports/shm_layout.h"

namespace millrace::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLooks = 4000;                   // of a rank that waits, before it sleeps
constexpr std::chrono::milliseconds kNap{10};  // then it looks as often whether others are alive

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

Error system_error(std::string_view what) {
  const bool memory = errno == ENOMEM || errno == ENOSPC;
  return make_error(memory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, "", "shared memory of ranks: {}: {}",
                    what, std::strerror(errno));
}

class Mapping {
 public:
  static Result<Mapping> of(int descriptor, std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return system_error("mmap");
    return Mapping(static_cast<std::byte*>(memory), bytes);
  }
  ~Mapping() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&&) = delete;

  std::byte* at(std::size_t offset) const noexcept { return memory_ + offset; }
  ShmHeader header() const noexcept {
    ShmHeader header;
    std::memcpy(&header, memory_, sizeof(header));
    return header;
  }

 private:
  Mapping(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  std::byte* memory_;
  std::size_t bytes_;
};

class ShmCommunicator final : public Communicator {
 public:
  ShmCommunicator(Mapping mapping, const ShmHeader& header, int rank)
      : mapping_(std::move(mapping)), header_(header), rank_(rank), processes_(header.ranks, -1) {}
  ~ShmCommunicator() override {
    for (const int process : processes_) {
      if (process >= 0) close(process);
    }
  }

  // Tells the others who this rank is, and waits for them.
  Result<void> join(Timeout timeout) {
    std::uint32_t none = 0;
    if (!of(rank_).process.compare_exchange_strong(none, static_cast<std::uint32_t>(getpid()))) {
      return make_error(ErrorCode::kInvalidArgument, "rank", "rank {} is process {} already", rank_, none);
    }
    wake();
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank_) continue;
      if (auto come = wait_for(other, timeout, [](ShmRank& it) { return it.process.load() != 0; }); !come) return come;
      const auto process = static_cast<pid_t>(of(other).process.load());
      processes_[static_cast<std::size_t>(other)] = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
      if (processes_[static_cast<std::size_t>(other)] < 0) return ended(other);
    }
    return {};
  }

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return static_cast<int>(header_.ranks); }
  std::span<std::byte> memory() noexcept override { return {mapping_.at(header_.memory_at()), header_.memory_bytes}; }

  std::uint64_t publish() noexcept override {
    of(rank_).published.store(++published_);  // in one order with `sleepers`, see wait_for()
    wake();
    return published_;
  }

  std::uint64_t published() const noexcept override { return published_; }

  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override {
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank_) continue;
      const auto ready = [block](ShmRank& it) { return it.published.load() >= block; };
      if (auto come = wait_for(other, timeout, ready); !come) return come;
    }
    return {};
  }

  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override {
    CHECK(rank_ == 0);
    if (command.size() > kMaxCommand) {
      return make_error(ErrorCode::kInternal, "", "a command to ranks has {} bytes: at most {} are possible",
                        command.size(), kMaxCommand);
    }
    const std::uint64_t size = command.size();
    if (auto sent = write(std::as_bytes(std::span(&size, 1)), timeout); !sent) return sent;
    return write(command, timeout);
  }

  Result<std::vector<std::byte>> receive(Timeout timeout) override {
    CHECK(rank_ != 0);
    std::uint64_t size = 0;
    if (auto come = read(std::as_writable_bytes(std::span(&size, 1)), timeout); !come) return come.error();
    if (size > kMaxCommand) {
      return make_error(ErrorCode::kInternal, "", "rank 0 sends a command of {} bytes: at most {} are possible", size,
                        kMaxCommand);
    }
    std::vector<std::byte> command(size);
    if (auto come = read(command, timeout); !come) return come.error();
    return command;
  }

 private:
  ShmRank& of(int rank) const noexcept { return reinterpret_cast<ShmRank*>(mapping_.at(header_.ranks_at()))[rank]; }

  // Something of this rank has changed.
  void wake() noexcept {
    ShmRank& own = of(rank_);
    if (own.sleepers.load() == 0) return;
    own.changes.fetch_add(1);
    futex(own.changes, FUTEX_WAKE, INT_MAX, nullptr);
  }

  Error ended(int other) const {
    return make_error(ErrorCode::kUnavailable, "rank", "rank {} (process {}) has ended", other,
                      of(other).process.load());
  }
  bool has_ended(int other) const noexcept {
    pollfd process{.fd = processes_[static_cast<std::size_t>(other)], .events = POLLIN, .revents = 0};
    return process.fd >= 0 && poll(&process, 1, 0) > 0;
  }

  // Waits until ready(rank). A rank that sleeps has said so before it looks for the last time, and a rank that changes
  // something looks for sleepers afterwards: one of both sees the other.
  template <typename Ready>
  Result<void> wait_for(int other, Timeout timeout, const Ready& ready) noexcept {
    ShmRank& it = of(other);
    SpinWait spin;
    for (int i = 0; i < kLooks; ++i, spin.wait()) {
      if (ready(it)) return {};
    }
    const auto until = Clock::now() + timeout;
    while (true) {
      it.sleepers.fetch_add(1);
      const std::uint32_t changes = it.changes.load();
      const bool is_ready = ready(it);
      const timespec nap{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kNap).count()};
      if (!is_ready) futex(it.changes, FUTEX_WAIT, changes, &nap);
      it.sleepers.fetch_sub(1);
      if (is_ready || ready(it)) return {};
      if (has_ended(other)) return ready(it) ? Result<void>() : ended(other);  // what it did at last counts
      if (Clock::now() >= until) return late(other, timeout);
    }
  }
  Error late(int other, Timeout timeout) const {
    const double seconds = std::chrono::duration<double>(timeout).count();
    const std::uint32_t process = of(other).process.load();
    if (process == 0)
      return make_error(ErrorCode::kUnavailable, "rank", "rank {} has not joined within {} s", other, seconds);
    return make_error(ErrorCode::kUnavailable, "rank", "rank {} (process {}) has not come within {} s", other, process,
                      seconds);
  }

  // Copies to or from the place that `bytes` bytes of commands before end at, up to the end of the ring.
  std::span<std::byte> ring(std::uint64_t before, std::size_t most) const noexcept {
    const std::size_t at = before % header_.command_bytes;
    return {mapping_.at(header_.commands_at()) + at, std::min<std::size_t>(most, header_.command_bytes - at)};
  }

  Result<void> write(std::span<const std::byte> bytes, Timeout timeout) noexcept {
    while (!bytes.empty()) {
      const std::span<std::byte> place = ring(commands_, bytes.size());
      for (int other = 1; other < ranks(); ++other) {
        const auto has_room = [&](ShmRank& it) {
          return commands_ + place.size() - it.commands.load() <= header_.command_bytes;
        };
        if (auto room = wait_for(other, timeout, has_room); !room) return room;
      }
      std::memcpy(place.data(), bytes.data(), place.size());
      bytes = bytes.subspan(place.size());
      commands_ += place.size();
      of(0).commands.store(commands_);
      wake();
    }
    return {};
  }

  Result<void> read(std::span<std::byte> bytes, Timeout timeout) noexcept {
    while (!bytes.empty()) {
      const auto has_more = [&](ShmRank& it) { return it.commands.load() > commands_; };
      if (auto more = wait_for(0, timeout, has_more); !more) return more;
      const std::uint64_t there = of(0).commands.load() - commands_;
      const std::span<std::byte> place = ring(commands_, std::min<std::uint64_t>(bytes.size(), there));
      std::memcpy(bytes.data(), place.data(), place.size());
      bytes = bytes.subspan(place.size());
      commands_ += place.size();
      of(rank_).commands.store(commands_);
      wake();
    }
    return {};
  }

  Mapping mapping_;
  const ShmHeader header_;  // a copy: others could change the original
  const int rank_;
  std::vector<int> processes_;  // pidfds
  std::uint64_t published_ = 0, commands_ = 0;
};

}  // namespace

ShmSegment::~ShmSegment() {
  if (descriptor_ >= 0) close(descriptor_);
}

ShmSegment::ShmSegment(ShmSegment&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Result<ShmSegment> ShmSegment::make(int ranks, std::size_t memory_bytes, std::size_t command_bytes) {
  CHECK(ranks >= 1 && ranks <= static_cast<int>(ShmHeader::kMaxRanks) && command_bytes > 0);
  const ShmHeader header{.magic = ShmHeader::kMagic,
                         .ranks = static_cast<std::uint32_t>(ranks),
                         .rank_bytes = sizeof(ShmRank),
                         .command_bytes = command_bytes,
                         .memory_bytes = memory_bytes};
  ShmSegment segment(memfd_create("millrace ranks", MFD_CLOEXEC));
  if (segment.descriptor_ < 0) return system_error("memfd_create");
  if (const int failure = posix_fallocate(segment.descriptor_, 0, static_cast<off_t>(header.bytes())); failure != 0) {
    errno = failure;
    return system_error(fmt::format("{} bytes", header.bytes()));
  }
  if (pwrite(segment.descriptor_, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header))) {
    return system_error("write");
  }
  return segment;
}

Result<std::unique_ptr<Communicator>> join_shm(int descriptor, int rank, Communicator::Timeout timeout) {
  struct stat file = {};
  ShmHeader header = {};
  const bool read = fstat(descriptor, &file) == 0 &&
                    pread(descriptor, &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  const bool fits = read && header.magic == ShmHeader::kMagic && header.rank_bytes == sizeof(ShmRank) &&
                    header.ranks >= 1 && header.ranks <= ShmHeader::kMaxRanks && header.command_bytes >= 1 &&
                    header.command_bytes < kMost && header.memory_bytes < kMost &&
                    static_cast<std::uint64_t>(file.st_size) >= header.bytes();
  if (!fits) {
    return make_error(ErrorCode::kBadFile, "", "descriptor {} is no shared memory of this version of millrace",
                      descriptor);
  }
  if (rank < 0 || rank >= static_cast<int>(header.ranks)) {
    return make_error(ErrorCode::kInvalidArgument, "rank", "rank is {}: must be from 0 to {}", rank, header.ranks - 1);
  }
  auto mapping = Mapping::of(descriptor, header.bytes());
  if (!mapping) return mapping.error();
  auto made = std::make_unique<ShmCommunicator>(*std::move(mapping), header, rank);
  if (auto joined = made->join(timeout); !joined) return joined.error();
  return std::unique_ptr<Communicator>(std::move(made));
}

}  // namespace millrace::comm
