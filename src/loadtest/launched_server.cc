#include "loadtest/launched_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "base/env.h"
#include "loadtest/watch/http_get.h"

namespace millrace::loadtest {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kGrace{20};
constexpr std::string_view kPort = "{port}";

// A port that was free a moment ago.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (fd >= 0) ::close(fd);
  if (!bound) throw_load_error(ErrorCode::kResourceExhausted, "port", "no free port: {}", std::strerror(errno));
  return ntohs(address.sin_port);
}

// In the child: nothing but calls that are safe after fork.
[[noreturn]] void become(char* const* argv, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::setpgid(0, 0);  // Ctrl-C at the terminal is for us: the server must live to see the end of the run
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(argv[0], argv);
  constexpr std::string_view kFailed = "cannot be started\n";
  static_cast<void>(!::write(STDERR_FILENO, kFailed.data(), kFailed.size()));
  ::_exit(127);
}

// Models are loaded while a server listens: /ready says when that is over; who has none lists models when they are
// there.
bool is_ready(Getter& getter) {
  const auto ready = getter.get("/ready");
  return ready || (ready.error().code == ErrorCode::kNotFound && getter.get("/v1/models"));
}

}  // namespace

LaunchedServer::LaunchedServer(Command command, const std::function<bool()>& stop) : command_(std::move(command)) {
  const int port = free_port();
  for (std::string& argument : command_.argv) {
    for (std::size_t at; (at = argument.find(kPort)) != std::string::npos;) {
      argument.replace(at, kPort.size(), std::to_string(port));
    }
  }
  target_.url = "http://127.0.0.1:" + std::to_string(port);
  target_.host = "127.0.0.1";
  target_.port = port;
  const int log = ::open(command_.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) throw_load_error(ErrorCode::kBadFile, "log", "{}: {}", command_.log, std::strerror(errno));
  std::vector<char*> argv;
  for (std::string& argument : command_.argv) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), log);
  ::close(log);
  if (pid_ < 0) throw_load_error(ErrorCode::kResourceExhausted, "spawn", "fork: {}", std::strerror(errno));

  Getter getter(target_);
  const TimePoint patience = Clock::now() + std::chrono::milliseconds(std::int64_t(command_.ready_seconds * 1e3));
  while (!is_ready(getter)) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      throw_load_error(ErrorCode::kUnavailable, "spawn", "{} ended before it was ready: {}", command_.argv[0],
                       last_lines());
    }
    if (Clock::now() > patience || (stop && stop())) {
      end();
      throw_load_error(ErrorCode::kUnavailable, "spawn", "{} was not ready after {:.0f} s: {}", command_.argv[0],
                       command_.ready_seconds, last_lines());
    }
    std::this_thread::sleep_for(kLook);
  }
}

LaunchedServer::~LaunchedServer() { end(); }

void LaunchedServer::end() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGTERM);
  const TimePoint patience = Clock::now() + kGrace;
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (Clock::now() > patience) {
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(kLook);
  }
  pid_ = -1;
}

std::string LaunchedServer::last_lines() const {
  constexpr std::size_t kLines = 3;
  const auto text = read_file(Env::system(), command_.log, std::uint64_t{64} << 20);
  if (!text) return text.error().message;
  std::string_view rest = *text;
  std::string lines;
  for (std::size_t i = 0; i < kLines && !rest.empty();) {
    const std::size_t at = rest.rfind('\n');
    const std::string_view line = at == std::string_view::npos ? rest : rest.substr(at + 1);
    rest = rest.substr(0, at == std::string_view::npos ? 0 : at);
    if (line.empty()) continue;
    lines = std::string(line) + (lines.empty() ? "" : " | ") + lines;
    ++i;
  }
  return lines;
}

Result<std::vector<std::string>> split_command(std::string_view flag, std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    return make_error(ErrorCode::kInvalidArgument, std::string(flag), "{}: a quote {} is left open", flag, quote);
  }
  return words;
}

}  // namespace millrace::loadtest
