#include "fake_server.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <string>

#include "base/log.h"
#include "http/server.h"
#include "server/service.h"

namespace millrace::bench {
namespace {

// As `millrace serve` has it but for the limits that a benchmark reaches by intent: connections, requests of one.
int serve_until_closed(const InstantConfig& model, int io_threads, int report, int alive) {
  server::observe::LogWriter writer({});
  server::Observers observers({.log_requests = false}, writer, Env::system());
  std::vector<server::ModelEntry> models;
  models.push_back(instant_model(model, observers));
  server::Service service({}, server::Access::load("", {}, 0).or_throw(), std::move(models), {}, observers,
                          Env::system());
  http::ServerConfig config;
  config.port = 0;
  config.threads = io_threads;
  config.limits.connections = 0;
  config.limits.requests_per_connection = 1 << 30;
  const auto server = http::Server::start(config, service).or_throw();
  while (service.models().first().state != server::ModelState::kReady) ::usleep(1000);
  const int port = server->port();
  if (::write(report, &port, sizeof port) != sizeof port) return 1;
  char byte;
  return ::read(alive, &byte, 1) == 0 ? 0 : 1;
}

std::string read_proc(pid_t pid, const char* what) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + what);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Field `index` of /proc/PID/stat counted from the state, which follows the name in brackets (proc(5)).
std::int64_t stat_field(pid_t pid, int index) {
  const std::string text = read_proc(pid, "stat");
  std::size_t at = text.rfind(')') + 2;
  for (int i = 0; i < index; ++i) at = text.find(' ', at) + 1;
  return std::stoll(text.substr(at));
}

}  // namespace

FakeServer::FakeServer(const InstantConfig& model, int io_threads) {
  std::array<int, 2> report{}, alive{};
  if (::pipe(report.data()) != 0 || ::pipe(alive.data()) != 0) {
    throw_load_error(ErrorCode::kResourceExhausted, "pipe", "no pipes");
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(alive[1]);
    int code = 1;
    try {
      code = serve_until_closed(model, io_threads, report[1], alive[0]);
    } catch (const std::exception& failure) {
      log::error("{}", failure.what());
    }
    ::_exit(code);
  }
  ::close(report[1]);
  ::close(alive[0]);
  alive_ = alive[1];
  const bool told = pid_ > 0 && ::read(report[0], &port_, sizeof port_) == sizeof port_;
  ::close(report[0]);
  if (!told) throw_load_error(ErrorCode::kUnavailable, "server", "the server did not start");
}

FakeServer::~FakeServer() {
  ::close(alive_);
  ::waitpid(pid_, nullptr, 0);
}

std::int64_t FakeServer::resident_bytes() const { return stat_field(pid_, 21) * ::sysconf(_SC_PAGESIZE); }
double FakeServer::cpu_seconds() const {
  return static_cast<double>(stat_field(pid_, 11) + stat_field(pid_, 12)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}
int FakeServer::threads() const { return static_cast<int>(stat_field(pid_, 17)); }

}  // namespace millrace::bench
