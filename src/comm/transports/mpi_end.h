#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "comm/transports/mpi.h"
#include "comm/transports/mpi_mail.h"
#include "comm/transports/mpi_process.h"

namespace millrace::comm {

// This rank's end of a group of a job.
class MpiEnd final : public MpiGroup {
 public:
  MpiEnd(MpiProcess& process, int group);  // the process must outlive it

  int rank() const noexcept override { return process_.rank; }
  int ranks() const noexcept override { return process_.ranks; }
  int stages() const noexcept override { return process_.stages; }
  std::string name_of(int rank) const override { return process_.name_of(rank); }
  std::span<std::byte> memory() noexcept override { return {memory_.data(), memory_.size()}; }
  std::uint64_t publish(const Block& block) noexcept override;
  std::uint64_t published() const noexcept override { return count_.load(std::memory_order_relaxed); }
  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override;
  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override;
  Result<std::vector<std::byte>> receive(Timeout timeout) override;
  Result<void> answer(std::span<const std::byte> message, Timeout timeout) noexcept override;
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override;
  Result<void> pass(std::span<const std::byte> message, Timeout timeout) noexcept override;
  Result<std::vector<std::byte>> take(Timeout timeout) override;

  Result<void> allocate(std::size_t bytes) override;
  void cancel() noexcept override { is_cancelled_ = true; }
  Result<void> clear(Timeout timeout) override;
  // Waits until the library no longer needs what this end has sent.
  Result<void> flush(Timeout timeout);

 private:
  struct Exchange {
    MpiHandle request;
    std::vector<int> bytes, at;  // which the library reads until it is done
  };
  template <typename Look, typename Late>
  Result<void> wait(Timeout timeout, const Look& look, const Late& late);
  // Called while the library is this thread's, as the next three are. Returns an error of it.
  int take_answers();
  int end_exchanges(std::uint64_t block, bool& done);
  int flush_mail(bool& done);
  int forget_mail(bool& done);
  Result<void> write(MpiMail& mail, const std::vector<int>& to, std::span<const std::byte> message, Timeout timeout);
  Result<std::vector<std::byte>> read(MpiMail& mail, int from, Timeout timeout);
  int who_is_late(std::uint64_t block) const { return process_.life ? process_.life->late(group_, block) : 0; }

  MpiProcess& process_;
  const MpiCalls& calls_;
  const int group_;
  std::atomic<std::uint64_t>& count_;  // of blocks that were published
  MpiMail commands_, answers_, passed_;
  std::vector<std::deque<MpiMail::Message>> taken_;  // answers, by rank
  Buffer memory_;
  std::deque<Exchange> pending_;  // the last of those published
  std::vector<Exchange> spare_;
  int begin_error_ = 0;
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace millrace::comm
