#include "loadtest/watch/process_reading.h"

#include <dirent.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>

namespace millrace::loadtest {
namespace {

constexpr int kListening = 10;  // TCP_LISTEN in /proc/net/tcp

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), &::closedir);
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir.get())) names.emplace_back(entry->d_name);
  return names;
}

pid_t number(const std::string& text) {
  pid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

// The fields of /proc/PID/stat after the name, which may hold spaces: [0] is the state, [1] the parent.
std::vector<std::string> stat_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  std::vector<std::string> fields;
  if (name_end == std::string::npos) return fields;
  std::istringstream rest(line.substr(name_end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

void add(pid_t pid, ProcessReading& sum) {
  const auto fields = stat_of(pid);
  if (fields.size() < 22) return;
  sum.pids.push_back(pid);
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  sum.cpu_seconds += (std::stod(fields[11]) + std::stod(fields[12])) / ticks;
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) sum.resident_peak_bytes += kib << 10;
    if (word == "VmRSS:" && status >> kib) sum.resident_bytes += kib << 10;
  }
}

// Inodes of the sockets that listen on the port.
std::vector<std::string> listening_inodes(int port) {
  std::vector<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
      const std::size_t colon = local.rfind(':');
      if (colon == std::string::npos || inode.empty()) continue;
      if (std::stoi(state, nullptr, 16) == kListening && std::stoi(local.substr(colon + 1), nullptr, 16) == port) {
        inodes.push_back(inode);
      }
    }
  }
  return inodes;
}

}  // namespace

ProcessReading read_processes(const std::vector<pid_t>& pids) {
  ProcessReading sum;
  for (const pid_t pid : pids) add(pid, sum);
  return sum;
}

std::vector<pid_t> family_of(pid_t root) {
  if (root <= 0) return {};
  std::vector<std::pair<pid_t, pid_t>> parents;  // process, parent
  for (const std::string& name : names_in("/proc")) {
    const pid_t pid = number(name);
    if (pid == 0) continue;
    if (const auto fields = stat_of(pid); fields.size() > 1) parents.emplace_back(pid, number(fields[1]));
  }
  std::vector<pid_t> family{root};
  for (std::size_t i = 0; i < family.size(); ++i) {
    for (const auto& [pid, parent] : parents) {
      if (parent == family[i] && std::ranges::find(family, pid) == family.end()) family.push_back(pid);
    }
  }
  return family;
}

pid_t find_listener(const std::string& host, int port) {
  if (host != "localhost" && host != "::1" && !host.starts_with("127.")) return 0;
  const auto inodes = listening_inodes(port);
  if (inodes.empty()) return 0;
  for (const std::string& name : names_in("/proc")) {
    if (number(name) == 0) continue;
    const std::string directory = fmt::format("/proc/{}/fd", name);
    for (const std::string& fd : names_in(directory)) {
      std::array<char, 64> link{};
      const ssize_t n = ::readlink(fmt::format("{}/{}", directory, fd).c_str(), link.data(), link.size());
      const std::string_view text(link.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
      for (const std::string& inode : inodes) {
        if (text == fmt::format("socket:[{}]", inode)) return number(name);
      }
    }
  }
  return 0;
}

}  // namespace millrace::loadtest
