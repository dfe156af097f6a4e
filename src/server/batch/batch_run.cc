#include "server/batch/batch_run.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::server::batch {
namespace {

constexpr int kLookAroundMs = 200;
constexpr std::size_t kPieceBytes = 4096;     // a pipe that is writable takes these without waiting (PIPE_BUF)
constexpr std::size_t kMaxPending = 1 << 20;  // bytes of lines that wait for the output

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

// For another try, once others have ended: the queue was full.
bool may_come_back(int status) { return status == 429 || status == 503; }

}  // namespace

// Which lines have news, told by any thread, read by one. Outlives the run, as wakes do.
class BatchRun::Signal {
 public:
  Signal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_ >= 0); }
  ~Signal() { ::close(fd_); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  int fd() const noexcept { return fd_; }

  void raise(std::int64_t line) {
    {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    }
    const std::uint64_t one = 1;
    static_cast<void>(::write(fd_, &one, sizeof one));
  }
  std::vector<std::int64_t> take() {
    std::uint64_t count = 0;
    static_cast<void>(::read(fd_, &count, sizeof count));
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  const int fd_;
  std::mutex mutex_;
  std::vector<std::int64_t> lines_;
};

struct BatchRun::Slot {
  std::int64_t number = 0;
  BatchLine line;
  std::unique_ptr<http::Responder> responder;  // while it runs
  std::string result;                          // once it is done
  bool turned_away = false;                    // to be tried again, when others have ended
  bool alone = false;                          // nothing else ran when it began: then a refusal is its answer
  std::int64_t done_then = 0;                  // how many had ended when it was turned away
};

BatchRun::BatchRun(http::Application& application, std::string id_prefix, BatchConfig config)
    : application_(application),
      id_prefix_(std::move(id_prefix)),
      config_(std::move(config)),
      signal_(std::make_shared<Signal>()) {}

BatchRun::~BatchRun() = default;

std::string BatchRun::id_of(const Slot& slot) const { return fmt::format("{}{:08x}", id_prefix_, slot.number); }

void BatchRun::finish(Slot& slot, std::string line, bool good) {
  slot.result = std::move(line);
  slot.line = {};
  if (!good) ++counts_.failed;
}

void BatchRun::begin(Slot& slot) {
  http::Request request = slot.line.request;
  request.received = std::chrono::steady_clock::now();
  slot.turned_away = false;
  slot.alone = running_ == 0;
  ++running_;
  slot.responder =
      application_.handle(std::move(request), [signal = signal_, number = slot.number] { signal->raise(number); });
  look(slot);
}

void BatchRun::look(Slot& slot) {
  if (slot.responder == nullptr) return;
  auto reply = slot.responder->poll();
  if (!reply) return;
  slot.responder.reset();
  --running_;
  if (may_come_back(reply->status) && !slot.alone) {
    slot.turned_away = true;
    slot.done_then = done_;
    return;
  }
  ++done_;
  finish(slot, reply_line(id_of(slot), slot.line.custom_id, *reply), reply->status < 400);
}

void BatchRun::take_lines(LineReader& reader) {
  while (has_room()) {
    auto line = reader.next();
    if (!line) return;
    if (!line->too_long && blank(line->text)) continue;
    auto& slot = *slots_.emplace_back(std::make_unique<Slot>());
    slot.number = first_ + static_cast<std::int64_t>(slots_.size()) - 1;
    ++counts_.lines;
    if (line->too_long) {
      slot.line.error = {"line_too_long", fmt::format("the line has more than {} bytes", config_.line_bytes)};
    } else {
      slot.line = read_batch_line(line->text);
    }
    if (slot.line.error.code.empty()) {
      begin(slot);
    } else {
      finish(slot, error_line(id_of(slot), slot.line.custom_id, slot.line.error), false);
    }
  }
}

// What has ended goes out, as far as all before it has; who was turned away is tried again.
void BatchRun::collect() {
  for (const std::int64_t number : signal_->take()) {
    if (number >= first_) look(*slots_[static_cast<std::size_t>(number - first_)]);
  }
  for (const auto& slot : slots_) {
    if (!slot->turned_away) continue;
    const bool hopeful = running_ == 0 || slot->done_then != done_;
    if (hopeful && running_ < config_.max_running) begin(*slot);
  }
  while (!slots_.empty() && !slots_.front()->result.empty() && pending_.size() < kMaxPending) {
    pending_ += slots_.front()->result;
    slots_.pop_front();
    ++first_;
  }
}

Result<void> BatchRun::write_some(int fd) {
  if (pending_.empty() || !std::exchange(output_ready_, false)) return {};
  const ssize_t n = ::write(fd, pending_.data(), std::min(pending_.size(), kPieceBytes));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (n < 0) {
    return make_error(ErrorCode::kResourceExhausted, "output-file", "cannot write: {}", std::strerror(errno));
  }
  pending_.erase(0, static_cast<std::size_t>(n));
  return {};
}

Result<void> BatchRun::wait(const LineReader& reader, int input_fd, int output_fd, bool& readable) {
  std::array<pollfd, 3> fds = {pollfd{signal_->fd(), POLLIN, 0},
                               pollfd{has_room() && reader.wants_bytes() ? input_fd : -1, POLLIN, 0},
                               pollfd{pending_.empty() ? -1 : output_fd, POLLOUT, 0}};
  const bool more_to_take = has_room() && !reader.wants_bytes() && !reader.ended();
  const int n = ::poll(fds.data(), fds.size(), more_to_take ? 0 : kLookAroundMs);
  readable = n > 0 && fds[1].revents != 0;
  output_ready_ = n > 0 && fds[2].revents != 0;
  if (n == 0 && !more_to_take && config_.gave_up && config_.gave_up())
    return Error{ErrorCode::kInternal, "", "an engine has failed"};
  return {};
}

Result<BatchCounts> BatchRun::run(int input_fd, int output_fd) {
  LineReader reader(input_fd, config_.line_bytes);
  bool readable = false;
  for (;;) {
    if (readable) {
      if (auto read = reader.read_some(); !read) return read.error();
      if (config_.progress) config_.progress(reader.bytes_read());
    }
    take_lines(reader);
    collect();
    if (auto written = write_some(output_fd); !written) return written.error();
    if (reader.ended() && slots_.empty() && pending_.empty()) break;
    if (auto waited = wait(reader, input_fd, output_fd, readable); !waited) return waited.error();
  }
  return counts_;
}

}  // namespace millrace::server::batch
