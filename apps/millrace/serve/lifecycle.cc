#include "serve/lifecycle.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/log.h"

namespace millrace::app {
namespace {

constexpr int kEngineFailed = 70;                // EX_SOFTWARE
constexpr timespec kLookAround{0, 200'000'000};  // between two looks at engines and models
constexpr double kExitSeconds = 5.0;             // for what is left to be closed, after a drain or a failure

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// One datagram to $NOTIFY_SOCKET, whose first character '@' stands for a zero byte. Nothing without one.
void tell_systemd(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(std::strlen(path), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  ::close(socket);
}

// Ends the process at the end of the time, whatever hangs.
void exit_after(double seconds, int code) {
  std::thread([seconds, code] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ::_exit(code);
  }).detach();
}

int drain(http::Server& server, server::Service& service, double seconds) {
  log::info("shutting down: running requests have {} s", seconds);
  tell_systemd("STOPPING=1");
  std::atomic<bool> drained = false;
  std::thread draining([&] {
    service.begin_drain();
    server.stop_accepting();
    service.drain(seconds * 1000.0);
    drained = true;
  });
  const sigset_t set = our_signals();
  while (!drained) {
    const int signal = ::sigtimedwait(&set, nullptr, &kLookAround);
    if (signal == SIGTERM || signal == SIGINT) {
      log::flush();
      ::_exit(128 + signal);
    }
  }
  draining.join();
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(2);  // for last words to be taken
  while (server.connections() > 0 && std::chrono::steady_clock::now() < last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  exit_after(kExitSeconds, 0);
  return 0;
}

}  // namespace

void hold_signals() {
  const sigset_t set = our_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int run_until_told(http::Server& server, server::Service& service, double shutdown_seconds,
                   const std::function<void()>& reload) {
  const sigset_t set = our_signals();
  bool ready = false;
  for (;;) {
    const int signal = ::sigtimedwait(&set, nullptr, &kLookAround);
    if (signal == SIGTERM || signal == SIGINT) return drain(server, service, shutdown_seconds);
    if (signal == SIGHUP) reload();
    const server::ModelStatus first = service.models().first();
    if (!ready && first.state == server::ModelState::kFailed) {
      exit_after(kExitSeconds, exit_code(first.error.code));
      return exit_code(first.error.code);
    }
    if (!ready && first.state == server::ModelState::kReady) {
      ready = true;
      tell_systemd("READY=1");
      log::info("{} is ready", first.name);
    }
    if (service.engine_failed()) {
      log::error("an engine has failed");
      service.give_up();
      exit_after(kExitSeconds / 2, kEngineFailed);  // who watches from outside sees /health red until then
      std::this_thread::sleep_for(std::chrono::seconds(1));
      return kEngineFailed;
    }
    tell_systemd("WATCHDOG=1");
  }
}

}  // namespace millrace::app
