#include "comm/transports/mpi_process.h"

#include <array>
#include <chrono>
#include <utility>

#include "comm/transports/mpi_mail.h"

namespace millrace::comm {

std::string MpiProcess::name_of(int of) const {
  const auto i = static_cast<std::size_t>(of);
  if (i >= members.size()) return fmt::format("rank {}", of);
  return fmt::format("rank {} (process {} on host {})", of, members[i].process, members[i].host);
}

Error MpiProcess::error_of(int error) {
  std::array<char, 256> text{};
  const std::scoped_lock lock(mutex);
  if (const int failed = calls.failed_rank(); failed >= 0) {
    return make_error(ErrorCode::kUnavailable, "rank", "{} has ended", name_of(failed));
  }
  if (error == MpiMail::kTooLong) {
    return make_error(ErrorCode::kUnavailable, "rank", "{} gets a message of more than {} bytes", name_of(rank),
                      Communicator::kMaxCommand);
  }
  calls.describe(error, text.data(), text.size());
  return make_error(ErrorCode::kUnavailable, "rank", "MPI of {}: {}", name_of(rank), text.data());
}

Error MpiProcess::lose(Error why) {
  if (life == nullptr) return why;
  life->lose(why);
  return *life->lost();
}

Error MpiProcess::fail(int error) { return lose(error_of(error)); }

Error MpiProcess::late(int other, Communicator::Timeout timeout) {
  const double seconds = std::chrono::duration<double>(timeout).count();
  return lose(make_error(ErrorCode::kUnavailable, "rank", "{} not come within {} s",
                         other != 0 ? name_of(other) + " has" : "not all ranks have", seconds));
}

}  // namespace millrace::comm
