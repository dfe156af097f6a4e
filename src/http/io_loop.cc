#include "http/io_loop.h"

#include <boost/asio/post.hpp>
#include <vector>

#include "base/thread_name.h"

namespace millrace::http {
namespace {

constexpr std::chrono::milliseconds kTick{250};

}  // namespace

void IoLoop::run() {
  schedule();
  thread_ = std::thread([this] {
    name_thread("io");
    io_.run();
  });
}

void IoLoop::schedule() {
  timer_.expires_after(kTick);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    const std::vector<Timed*> all(timed_.begin(), timed_.end());  // tick() may remove some
    for (Timed* timed : all) {
      if (timed_.contains(timed)) timed->tick(now);
    }
    schedule();
  });
}

void IoLoop::retire_all() {
  boost::asio::post(io_, [this] {
    const std::vector<Timed*> all(timed_.begin(), timed_.end());
    for (Timed* timed : all) {
      if (timed_.contains(timed)) timed->retire();
    }
  });
}

void IoLoop::stop() {
  boost::asio::post(io_, [this] {
    const std::vector<Timed*> all(timed_.begin(), timed_.end());
    for (Timed* timed : all) timed->abort();
    timer_.cancel();
    work_.reset();
  });
  if (thread_.joinable()) thread_.join();
}

}  // namespace millrace::http
