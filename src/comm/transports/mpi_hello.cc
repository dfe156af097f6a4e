#include "comm/transports/mpi_hello.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>

namespace millrace::comm {
namespace {

// Names go into messages of one line.
bool is_name(const std::string& text) {
  return text.size() <= HOST_NAME_MAX && std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

MpiHello own_hello(int stages) {
  MpiHello hello{.stages = stages, .process = getpid(), .host = {}, .boot = {}};
  std::array<char, HOST_NAME_MAX + 1> name{};
  gethostname(name.data(), name.size() - 1);
  hello.host = name.data();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> hello.boot;
  struct stat status = {};
  if (stat("/proc/self/ns/pid", &status) == 0) hello.process_namespace = status.st_ino;
  return hello;
}

Result<std::vector<MpiHello>> read_hellos(std::span<const std::vector<std::byte>> all, int ranks, int stages) {
  if (std::ssize(all) != ranks) {
    return make_error(ErrorCode::kInternal, "", "rank 0 says who {} ranks are: must be {}", all.size(), ranks);
  }
  std::vector<MpiHello> hellos(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    MpiHello& hello = hellos[i];
    ByteReader reader(all[i]);
    reader(hello);
    if (!reader.ok() || reader.left() > 0 || hello.magic != MpiHello::kMagic || !is_name(hello.host)) {
      return make_error(ErrorCode::kInvalidArgument, "distributed-executor-backend",
                        "rank {} is of another version of millrace", i);
    }
    if (hello.stages == stages) continue;
    return make_error(ErrorCode::kInvalidArgument, "pipeline-parallel-size",
                      "rank {} (process {} on host {}) was told of {} stages, this one of {}", i, hello.process,
                      hello.host, hello.stages, stages);
  }
  return hellos;
}

}  // namespace millrace::comm
