// What /proc/net tells of sockets (proc_pid_net(5)) leads to an inode, and the descriptors of processes to its owner.

#include "http/socket_owner.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace millrace::http {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

// An address as /proc/net/tcp writes it: words of 32 bits in the machine's order, in hexadecimal digits.
std::string kernel_text(const std::string& address) {
  std::uint32_t words[4];
  const bool v6 = address.find(':') != std::string::npos;
  if (::inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), words) != 1) return {};
  std::string text;
  for (int i = 0; i < (v6 ? 4 : 1); ++i) text += fmt::format("{:08X}", words[i]);
  return text;
}

// The inode of the listening socket in one of the tables; empty: there is none.
std::string tcp_inode(const char* table, const std::string& address, int port) {
  constexpr std::size_t kLocal = 1, kState = 3, kInode = 9;
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() <= kInode || words[kState] != "0A") continue;  // TCP_LISTEN
    const std::size_t colon = words[kLocal].find(':');
    if (colon == std::string::npos || words[kLocal].substr(colon + 1) != fmt::format("{:04X}", port)) continue;
    const std::string local = words[kLocal].substr(0, colon);
    const bool every = local.find_first_not_of('0') == std::string::npos;
    if (every || address.find_first_not_of('0') == std::string::npos || local == address) return words[kInode];
  }
  return {};
}

std::optional<SocketOwner> owner_of(const std::string& inode) {
  if (inode.empty()) return std::nullopt;
  const std::string wanted = "socket:[" + inode + "]";
  std::error_code unreadable;  // processes of others, and those that have just ended
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", unreadable)) {
    const std::string name = process.path().filename();
    int pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc() || pid <= 0) continue;
    std::error_code error;
    for (fs::directory_iterator it(process.path() / "fd", error), end; !error && it != end; it.increment(error)) {
      std::error_code closed;
      if (fs::read_symlink(it->path(), closed) != wanted) continue;
      SocketOwner owner{.pid = pid, .command = {}};
      std::ifstream in(process.path() / "comm");
      std::getline(in, owner.command);
      return owner;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SocketOwner> tcp_owner(const std::string& address, int port) {
  const std::string text = kernel_text(address);
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    if (auto owner = owner_of(tcp_inode(table, text, port))) return owner;
  }
  return std::nullopt;
}

std::optional<SocketOwner> unix_owner(const std::string& path) {
  constexpr std::size_t kFlags = 3, kInode = 6, kPath = 7;
  std::ifstream in("/proc/net/unix");
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() <= kPath || words[kFlags] != "00010000") continue;  // __SO_ACCEPTCON: it listens
    if (line.ends_with(" " + path)) return owner_of(words[kInode]);
  }
  return std::nullopt;
}

}  // namespace millrace::http
