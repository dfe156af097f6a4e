#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "backend/cpu/host_operands.h"
#include "backend/forwarding_backend.h"

namespace millrace::backend {

// Memory that can be accessed only between unlock() and lock(), except parts that are leased for reading. It is one
// range of addresses, so that each of the two is one system call. The cost of a call grows with the range in use, so
// released memory is handed out again, zeroed, for requests of the same size. One thread.
class LockedArena : public std::enable_shared_from_this<LockedArena> {
 public:
  LockedArena() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* base = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
  }
  ~LockedArena() { ::munmap(base_, kBytes); }
  LockedArena(const LockedArena&) = delete;
  LockedArena& operator=(const LockedArena&) = delete;

  // Zeroed memory, aligned to a page of the system; CHECKs that the range of 256 GiB suffices.
  std::byte* take(std::size_t bytes) {
    const std::size_t whole = round_up(bytes) + page_;  // an unused page between two pieces catches overruns
    if (const auto again = given_back_.find(whole); again != given_back_.end()) {
      return given_back_.extract(again).mapped();
    }
    std::byte* at = base_ + used_;
    used_ += whole;
    CHECK(used_ <= kBytes);
    return at;
  }
  void release(std::byte* at, std::size_t bytes) {
    ::madvise(at, bytes, MADV_DONTNEED);
    given_back_.emplace(round_up(bytes) + page_, at);
  }

  void unlock() noexcept { protect(base_, used_, PROT_READ | PROT_WRITE); }
  void lock() noexcept {
    protect(base_, used_, PROT_NONE);
    for (const auto& [at, bytes] : leased_) protect(at, bytes, PROT_READ);
  }
  // Makes memory readable until the last copy of the returned pointer is destroyed.
  std::shared_ptr<const void> lease(std::byte* at, std::size_t bytes) {
    const auto offset = static_cast<std::size_t>(at - base_) / page_ * page_;
    const std::size_t end = round_up(static_cast<std::size_t>(at - base_) + bytes);
    const auto entry = leased_.insert(leased_.end(), {base_ + offset, end - offset});
    protect(entry->first, entry->second, PROT_READ);
    return {at, [self = shared_from_this(), entry](const void*) { self->take_back(entry); }};
  }
  bool holds(const std::byte* at) const noexcept { return at >= base_ && at < base_ + kBytes; }

 private:
  using Lent = std::list<std::pair<std::byte*, std::size_t>>;
  static constexpr std::size_t kBytes = std::size_t{1} << 38;

  static void protect(std::byte* at, std::size_t bytes, int how) noexcept {
    if (bytes > 0) CHECK(::mprotect(at, bytes, how) == 0);
  }
  std::size_t round_up(std::size_t bytes) const noexcept { return (bytes + page_ - 1) / page_ * page_; }
  void take_back(Lent::iterator entry) noexcept {
    const auto [at, bytes] = *entry;
    leased_.erase(entry);
    protect(at, bytes, PROT_NONE);
    for (const auto& [other, size] : leased_) {  // two leases may share a page
      if (other < at + bytes && at < other + size) protect(other, size, PROT_READ);
    }
  }

  std::size_t page_, used_ = 0;
  std::byte* base_ = nullptr;
  std::multimap<std::size_t, std::byte*> given_back_;  // by size, the unused page included
  Lent leased_;
};

// For tests: the CPU backend with memory as if on another device. Host code that accesses it directly, or an operation
// that accesses it before synchronize(), ends the process with a segmentation fault.
class LockedBackend final : public ForwardingBackend {
 public:
  // `inner` must compute in host memory, and only inside synchronize() and transfers.
  explicit LockedBackend(std::unique_ptr<Backend> inner)
      : ForwardingBackend(std::move(inner)), arena_(std::make_shared<LockedArena>()) {}

  std::string description() const override { return "locked " + ForwardingBackend::description(); }
  Result<DeviceBuffer> allocate(std::size_t bytes) override {
    if (bytes > kMaxBytes) {
      return make_error(ErrorCode::kResourceExhausted, "memory", "cannot allocate {} bytes of memory", bytes);
    }
    std::byte* at = arena_->take(bytes);
    return DeviceBuffer(cpu::address_of(at), bytes, std::make_unique<Memory>(arena_, at, bytes));
  }
  void upload(std::span<const std::byte> from, DeviceAddress to) override {
    opened([&] { ForwardingBackend::upload(from, to); });
  }
  void download(DeviceAddress from, std::span<std::byte> out) override {
    opened([&] { ForwardingBackend::download(from, out); });
  }
  void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) override {
    opened([&] { ForwardingBackend::copy(from, to, bytes); });
  }
  HostView host_view(const DeviceView& results) override {
    const TensorView view = cpu::on_host(results);
    auto* at = static_cast<std::byte*>(view.data);
    if (view.shape.elements() == 0 || !arena_->holds(at)) return HostView(view);
    const auto last = static_cast<std::size_t>((view.rows() - 1) * view.row_stride() + view.cols());
    return HostView(view, arena_->lease(at, last * size_of(view.dtype)));
  }
  void synchronize() override {
    opened([&] { ForwardingBackend::synchronize(); });
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 36;

  class Memory final : public DeviceMemory {
   public:
    Memory(std::shared_ptr<LockedArena> arena, std::byte* at, std::size_t bytes)
        : arena_(std::move(arena)), at_(at), bytes_(bytes) {}
    ~Memory() override { arena_->release(at_, bytes_); }

   private:
    std::shared_ptr<LockedArena> arena_;
    std::byte* at_;
    std::size_t bytes_;
  };

  template <typename Work>
  void opened(const Work& work) {
    arena_->unlock();
    work();
    arena_->lock();
  }

  std::shared_ptr<LockedArena> arena_;
};

}  // namespace millrace::backend
