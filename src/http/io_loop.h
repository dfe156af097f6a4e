#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <unordered_set>

namespace millrace::http {

// An object that a loop calls periodically, on the loop's thread.
class Timed {
 public:
  virtual ~Timed() = default;
  virtual void tick(std::chrono::steady_clock::time_point now) = 0;
  virtual void retire() = 0;  // close as soon as no request is in progress
  virtual void abort() = 0;   // close now
};

// One IO thread and its connections. Connections have no timers of their own; one timer of the loop calls tick() of all
// of them four times per second.
class IoLoop : public std::enable_shared_from_this<IoLoop> {
 public:
  IoLoop() : io_(1), timer_(io_), work_(io_.get_executor()) {}
  boost::asio::io_context& io() noexcept { return io_; }
  void run();   // starts the thread
  void stop();  // aborts all connections and joins it
  void add(Timed& timed) { timed_.insert(&timed); }
  void remove(Timed& timed) { timed_.erase(&timed); }
  void retire_all();  // any thread

 private:
  void schedule();
  boost::asio::io_context io_;
  boost::asio::steady_timer timer_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unordered_set<Timed*> timed_;
  std::thread thread_;
};

}  // namespace millrace::http
