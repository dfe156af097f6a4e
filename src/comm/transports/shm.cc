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
#include <fstream>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/worker_team.h"
#include "comm/transports/shm_layout.h"

namespace millrace::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLooks = 4000;                     // of a rank that waits, before it sleeps
constexpr int kQuickLooks = 1000;                // behind these it looks at the clock too
constexpr std::chrono::seconds kStopLook{2};     // of a rank that has not come: whether a signal has stopped it
constexpr std::chrono::microseconds kGone{200};  // for so long another program had the processor between two looks
constexpr std::chrono::milliseconds kNap{10};    // then it looks as often whether others are alive

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
      : mapping_(std::move(mapping)),
        header_(header),
        rank_(rank),
        processes_(header.ranks, -1),
        numbers_(header.ranks, 0),
        answers_(header.ranks),
        others_(header.ranks - 1) {
    std::iota(others_.begin(), others_.end(), 1);
  }
  ~ShmCommunicator() override {
    for (const int process : processes_) {
      if (process >= 0) close(process);
    }
  }

  // Tells the others who this rank is, and waits for them. `started`: see join_shm().
  Result<void> join(Timeout timeout, std::span<const pid_t> started) {
    if (rank_ != 0) watch(0, static_cast<pid_t>(header_.leader));
    for (std::size_t i = 0; i < started.size() && i + 1 < processes_.size(); ++i) {
      if (!watch(static_cast<int>(i) + 1, started[i])) return ended(static_cast<int>(i) + 1);
    }
    std::uint32_t none = 0;
    if (!of(rank_).process.compare_exchange_strong(none, static_cast<std::uint32_t>(getpid()))) {
      return make_error(ErrorCode::kInvalidArgument, "rank", "rank {} is process {} already", rank_, none);
    }
    wake();
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank_) continue;
      if (auto come = wait_for(other, timeout, [](ShmRank& it) { return it.process.load() != 0; }); !come) return come;
      if (!watch(other, static_cast<pid_t>(of(other).process.load()))) return ended(other);
    }
    return {};
  }

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return static_cast<int>(header_.ranks); }
  int stages() const noexcept override { return static_cast<int>(header_.stages); }
  std::span<std::byte> memory() noexcept override {
    return {mapping_.at(header_.memory_at(static_cast<std::uint64_t>(stage()))), header_.memory_bytes};
  }

  std::uint64_t publish(const Block&) noexcept override {
    of(rank_).published.store(++published_);  // in one order with `sleepers`, see wait_for()
    wake();
    return published_;
  }

  std::uint64_t published() const noexcept override { return published_; }

  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override {
    const int first = stage() * stage_ranks();
    for (int other = first; other < first + stage_ranks(); ++other) {
      if (other == rank_) continue;
      const auto ready = [block](ShmRank& it) { return it.published.load() >= block; };
      if (auto come = wait_for(other, timeout, ready); !come) return come;
    }
    return {};
  }

  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override {
    CHECK(rank_ == 0);
    const auto read = [](ShmRank& it) -> std::atomic<std::uint64_t>& { return it.commands; };
    return write({commands_ring(), of(0).commands}, command, others_, read, timeout);
  }
  Result<std::vector<std::byte>> receive(Timeout timeout) override {
    CHECK(rank_ != 0);
    return read_message(commands_, 0, {commands_ring(), of(0).commands, &of(rank_).commands}, timeout);
  }

  Result<void> answer(std::span<const std::byte> message, Timeout timeout) noexcept override {
    CHECK(rank_ != 0);
    const int leader[] = {0};
    const auto read = [this](ShmRank&) -> std::atomic<std::uint64_t>& { return of(rank_).answers_read; };
    return write({answers_ring(rank_), of(rank_).answers}, message, leader, read, timeout);
  }
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override {
    CHECK(rank_ == 0 && rank > 0 && rank < ranks());
    return read_message(answers_[static_cast<std::size_t>(rank)], rank, answers_of(rank), timeout);
  }

  Result<void> pass(std::span<const std::byte> message, Timeout timeout) noexcept override {
    const int next[] = {rank_ + stage_ranks()};
    CHECK(next[0] < ranks());
    const auto read = [](ShmRank& it) -> std::atomic<std::uint64_t>& { return it.taken; };
    return write({passed_ring(rank_), of(rank_).passed}, message, next, read, timeout);
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override {
    const int before = rank_ - stage_ranks();
    CHECK(before >= 0);
    return read_message(taken_, before, {passed_ring(before), of(before).passed, &of(rank_).taken}, timeout);
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

  // False: there is no such process.
  bool watch(int other, pid_t process) noexcept {
    const auto at = static_cast<std::size_t>(other);
    if (processes_[at] >= 0) close(processes_[at]);
    numbers_[at] = process;
    processes_[at] = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    return processes_[at] >= 0;
  }
  Error ended(int other) const {
    const std::uint32_t process = of(other).process.load();
    if (process == 0) return make_error(ErrorCode::kUnavailable, "rank", "rank {} has ended before it joined", other);
    return make_error(ErrorCode::kUnavailable, "rank", "rank {} (process {}) has ended", other, process);
  }
  Error stopped(int other) const {
    return make_error(ErrorCode::kUnavailable, "rank", "rank {} (process {}) has been stopped by a signal", other,
                      numbers_[static_cast<std::size_t>(other)]);
  }
  // It may be long before a rank that loads its part is late.
  bool is_stopped(int other) const noexcept {
    std::ifstream file("/proc/" + std::to_string(numbers_[static_cast<std::size_t>(other)]) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return false;
    const std::size_t at = text.rfind(") ");  // behind the program's name
    return at != std::string::npos && text.substr(at + 2, 1) == "T";
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
    for (auto last = Clock::time_point::max(); const int i : std::views::iota(0, kLooks)) {
      if (ready(it)) return {};
      spin.wait();
      if (i < kQuickLooks) continue;
      // Where programs share processors, who sleeps is woken when it can go on, and who looks only waits for its turn.
      const auto now = Clock::now();
      if (now > last && now - last > kGone) break;
      last = now;
    }
    auto until = Clock::now() + timeout, before = Clock::now(), stop_look = before + kStopLook;
    while (true) {
      it.sleepers.fetch_add(1);
      const std::uint32_t changes = it.changes.load();
      const bool is_ready = ready(it);
      const timespec nap{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kNap).count()};
      if (!is_ready) futex(it.changes, FUTEX_WAIT, changes, &nap);
      it.sleepers.fetch_sub(1);
      if (is_ready || ready(it)) return {};
      drain_answers();
      if (ready(it)) return {};
      if (has_ended(other)) return ready(it) ? Result<void>() : ended(other);  // what it did at last counts
      if (rank_ != 0 && has_ended(0)) return ended(0);                         // without it nothing goes on
      const auto now = Clock::now();
      if (now - before > 10 * kNap) until += now - before;  // who had no processor itself blames none for that time
      if (now >= until) return late(other, timeout);
      if (now >= stop_look) {
        if (is_stopped(other)) return stopped(other);
        stop_look = now + kStopLook;
      }
      before = now;
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

  // Messages from one rank to others: their bytes one behind the other, each with its size before it.
  struct Ring {
    std::span<std::byte> bytes;
    std::atomic<std::uint64_t>& written;
    std::atomic<std::uint64_t>* read = nullptr;  // by this rank
  };
  std::span<std::byte> commands_ring() const noexcept {
    return {mapping_.at(header_.commands_at()), header_.command_bytes};
  }
  std::span<std::byte> answers_ring(int rank) const noexcept {
    return {mapping_.at(header_.answers_at(static_cast<std::uint64_t>(rank))), header_.answer_bytes};
  }
  std::span<std::byte> passed_ring(int rank) const noexcept {
    return {mapping_.at(header_.passed_at(static_cast<std::uint64_t>(rank))), header_.pass_bytes};
  }
  Ring answers_of(int rank) const noexcept { return {answers_ring(rank), of(rank).answers, &of(rank).answers_read}; }

  // The place that the bytes `at` and those behind it have, up to the end of the ring.
  static std::span<std::byte> place(const Ring& ring, std::uint64_t at, std::uint64_t most) noexcept {
    const std::size_t offset = at % ring.bytes.size();
    return ring.bytes.subspan(offset, std::min<std::size_t>(most, ring.bytes.size() - offset));
  }

  // `read`: how much of it that reader has read.
  template <typename Read>
  Result<void> write(const Ring& ring, std::span<const std::byte> message, std::span<const int> readers,
                     const Read& read, Timeout timeout) noexcept {
    if (message.size() > kMaxCommand) {
      return make_error(ErrorCode::kInternal, "", "rank {} has a message of {} bytes: at most {} are possible", rank_,
                        message.size(), kMaxCommand);
    }
    const std::uint64_t size = message.size();
    for (std::span<const std::byte> bytes : {std::as_bytes(std::span(&size, 1)), message}) {
      while (!bytes.empty()) {
        const std::uint64_t written = ring.written.load(std::memory_order_relaxed);
        const std::span<std::byte> to = place(ring, written, bytes.size());
        for (const int reader : readers) {
          const auto has_room = [&](ShmRank& it) { return written + to.size() - read(it).load() <= ring.bytes.size(); };
          if (auto room = wait_for(reader, timeout, has_room); !room) return room;
        }
        std::memcpy(to.data(), bytes.data(), to.size());
        bytes = bytes.subspan(to.size());
        ring.written.store(written + to.size());
        wake();
      }
    }
    return {};
  }

  // What has been read of messages.
  struct Inbox {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;  // of them

    std::size_t left() const noexcept { return bytes.size() - taken; }
    void take(std::span<std::byte> out) {
      std::memcpy(out.data(), bytes.data() + taken, out.size());
      taken += out.size();
      if (left() == 0) bytes.clear(), taken = 0;
    }
  };

  // Reads what is there. Other ranks could have written nonsense: no more than the ring has.
  void drain(const Ring& ring, Inbox& inbox) noexcept {
    std::uint64_t read = ring.read->load(std::memory_order_relaxed);
    const std::uint64_t before = read, there = std::min<std::uint64_t>(ring.written.load() - read, ring.bytes.size());
    while (read < before + there) {
      const std::span<const std::byte> from = place(ring, read, before + there - read);
      inbox.bytes.insert(inbox.bytes.end(), from.begin(), from.end());
      read += from.size();
    }
    if (read == before) return;
    ring.read->store(read);
    wake();
  }

  Result<void> fill(Inbox& inbox, int writer, const Ring& ring, std::uint64_t bytes, Timeout timeout) {
    while (inbox.left() < bytes) {
      const auto has_more = [&](ShmRank&) {
        return inbox.left() >= bytes || ring.written.load() > ring.read->load(std::memory_order_relaxed);
      };
      if (auto more = wait_for(writer, timeout, has_more); !more) return more;
      drain(ring, inbox);
    }
    return {};
  }

  Result<std::vector<std::byte>> read_message(Inbox& inbox, int writer, const Ring& ring, Timeout timeout) {
    std::uint64_t size = 0;
    if (auto come = fill(inbox, writer, ring, sizeof(size), timeout); !come) return come.error();
    inbox.take(std::as_writable_bytes(std::span(&size, 1)));
    if (size > kMaxCommand) {
      return make_error(ErrorCode::kInternal, "", "rank {} sends a message of {} bytes: at most {} are possible",
                        writer, size, kMaxCommand);
    }
    std::vector<std::byte> message(size);
    if (auto come = fill(inbox, writer, ring, size, timeout); !come) return come.error();
    inbox.take(message);
    return message;
  }

  // A rank that waits for room for an answer may be the one that the leader waits for.
  void drain_answers() noexcept {
    if (rank_ != 0) return;
    for (int other = 1; other < ranks(); ++other) drain(answers_of(other), answers_[static_cast<std::size_t>(other)]);
  }

  Mapping mapping_;
  const ShmHeader header_;  // a copy: others could change the original
  const int rank_;
  std::vector<int> processes_;  // pidfds
  std::vector<pid_t> numbers_;  // of these, or 0
  std::uint64_t published_ = 0;
  Inbox commands_, taken_;
  std::vector<Inbox> answers_;  // by rank
  std::vector<int> others_;     // all ranks but 0
};

}  // namespace

ShmSegment::~ShmSegment() {
  if (descriptor_ >= 0) close(descriptor_);
}

ShmSegment::ShmSegment(ShmSegment&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Result<ShmSegment> ShmSegment::make(const Sizes& sizes) {
  const int ranks = sizes.stage_ranks * sizes.stages;
  CHECK(sizes.stages >= 1 && ranks >= 1 && ranks <= static_cast<int>(ShmHeader::kMaxRanks));
  CHECK(sizes.commands > 0 && sizes.answers > 0 && sizes.passed > 0);
  const ShmHeader header{.magic = ShmHeader::kMagic,
                         .ranks = static_cast<std::uint32_t>(ranks),
                         .rank_bytes = sizeof(ShmRank),
                         .stages = static_cast<std::uint32_t>(sizes.stages),
                         .leader = static_cast<std::uint32_t>(getpid()),
                         .command_bytes = sizes.commands,
                         .answer_bytes = sizes.answers,
                         .pass_bytes = sizes.stages > 1 ? sizes.passed : 0,
                         .memory_bytes = sizes.memory};
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

Result<std::unique_ptr<Communicator>> join_shm(int descriptor, int rank, Communicator::Timeout timeout,
                                               std::span<const pid_t> started) {
  struct stat file = {};
  ShmHeader header = {};
  const bool read = fstat(descriptor, &file) == 0 &&
                    pread(descriptor, &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  const bool fits =
      read && header.magic == ShmHeader::kMagic && header.rank_bytes == sizeof(ShmRank) && header.ranks >= 1 &&
      header.ranks <= ShmHeader::kMaxRanks && header.stages >= 1 && header.ranks % header.stages == 0 &&
      (header.stages == 1 || header.pass_bytes >= 1) && header.command_bytes >= 1 && header.answer_bytes >= 1 &&
      header.command_bytes < kMost && header.answer_bytes < kMost / ShmHeader::kMaxRanks &&
      header.pass_bytes < kMost / ShmHeader::kMaxRanks && header.memory_bytes < kMost / ShmHeader::kMaxRanks &&
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
  if (auto joined = made->join(timeout, started); !joined) return joined.error();
  return std::unique_ptr<Communicator>(std::move(made));
}

}  // namespace millrace::comm
