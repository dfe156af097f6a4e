#include "servers/running_servers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "servers/model_cards.h"
#include "servers/owner_socket.h"
#include "servers/server_link.h"

namespace millrace::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{3000};  // with a server that does not answer

ServerLink::Cancelled soon() {
  return [until = Clock::now() + kPatience] { return Clock::now() > until; };
}

std::optional<int> pid_of(const fs::path& socket) {
  const std::string name = socket.stem();
  int pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && pid > 0 && socket.extension() == ".sock" ? std::optional(pid) : std::nullopt;
}

// Seconds since the process was started; nothing if it has ended.
std::optional<double> age_of(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid)), uptime("/proc/uptime");
  std::string text, field;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  double now = 0.0;
  if (name_end == std::string::npos || !(uptime >> now)) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 2));
  bool main_thread_ended = false;
  for (int i = 3; i <= 22; ++i) {  // in the end starttime in ticks
    rest >> field;
    if (i == 3) main_thread_ended = field == "Z" || field == "X";
    if (i == 20 && main_thread_ended && std::atoi(field.c_str()) <= 1) return std::nullopt;  // the last of its threads
  }
  return now - std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Whether the process of that number is the one that made the socket. One that is younger got the number of a server
// that was killed.
bool made_by(int pid, const fs::path& socket) {
  constexpr double kClockSeconds = 2.0;  // by which the two ages may differ
  struct stat status{};
  const auto age = age_of(pid);
  if (!age || ::stat(socket.c_str(), &status) != 0) return false;
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return *age + kClockSeconds >= now - static_cast<double>(status.st_mtime);
}

std::uint64_t resident_bytes_of(int pid) {
  std::ifstream memory(fmt::format("/proc/{}/statm", pid));
  std::uint64_t size = 0, resident = 0;
  memory >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string port_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  return address.starts_with("unix:") || colon == std::string::npos ? "" : address.substr(colon + 1);
}

}  // namespace

bool still_runs(const RunningServer& server) { return age_of(server.pid).has_value(); }

Result<std::vector<RunningServer>> running_servers() {
  const auto folder = owner_socket_folder();
  if (!folder) return folder.error();
  std::vector<RunningServer> out;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(*folder, ignored)) {
    const auto pid = pid_of(entry.path());
    if (!pid || !entry.is_socket(ignored)) continue;
    if (made_by(*pid, entry.path())) {
      out.push_back({*pid, entry.path()});
    } else {
      fs::remove(entry.path(), ignored);
    }
  }
  std::ranges::sort(out, {}, &RunningServer::pid);
  return out;
}

std::optional<FoundModel> find_loaded_model(const std::string& path) {
  const auto servers = running_servers();
  if (!servers) return std::nullopt;
  std::error_code error;
  for (const RunningServer& server : *servers) {
    ServerLink link({.socket = server.socket});
    for (const json& card : data_of(link.get("/v1/models", soon()))) {
      if (text_of(card, "status") != "ready" || text_of(card, "id").empty()) continue;
      if (fs::equivalent(text_of(card, "root"), path, error)) return FoundModel{server, text_of(card, "id")};
    }
  }
  return std::nullopt;
}

ServerReport report_of(const RunningServer& server) {
  ServerReport report{.server = server};
  report.resident_bytes = resident_bytes_of(server.pid);
  report.seconds = age_of(server.pid).value_or(0.0);
  ServerLink link({.socket = server.socket});
  const auto version = link.get("/version", soon());
  if (!version) {
    report.trouble = version.error().message;
    return report;
  }
  if (version->is_object()) report.address = text_of(*version, "address");
  for (const json& card : data_of(link.get("/v1/models", soon()))) {
    ServerReport::Model model{.name = text_of(card, "id"), .state = text_of(card, "status")};
    if (card.contains("progress") && card["progress"].is_number()) model.progress = card["progress"];
    if (model.state == "ready") model.path = text_of(card, "root");
    report.models.push_back(std::move(model));
  }
  report.requests = static_cast<std::int64_t>(data_of(link.get("/v1/requests", soon())).size());
  return report;
}

Result<ServerReport> chosen_server(const std::string& name) {
  const auto servers = running_servers();
  if (!servers) return servers.error();
  if (servers->empty()) {
    return Error{ErrorCode::kNotFound, "server", "no server of yours runs: `millrace serve` starts one"};
  }
  std::vector<std::string> known;
  std::optional<ServerReport> last;
  for (const RunningServer& server : *servers) {
    ServerReport report = report_of(server);
    const std::string pid = std::to_string(server.pid);
    if (!name.empty() && (name == pid || name == port_of(report.address) || name == report.address)) return report;
    known.push_back(fmt::format("{} ({})", pid, report.address.empty() ? "does not answer" : report.address));
    last = std::move(report);
  }
  if (name.empty() && known.size() == 1) return *std::move(last);
  const bool several = name.empty();
  return make_error(several ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound, "server", "{}: {}",
                    several ? "several servers run, say which" : "no server of yours has the pid or port " + name,
                    fmt::join(known, ", "));
}

}  // namespace millrace::app
