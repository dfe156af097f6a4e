#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_archive.h"
#include "base/result.h"

namespace millrace::comm {

// What ranks tell each other when they join.
struct MpiHello {
  static constexpr std::uint64_t kMagic = 0x31'69'70'6d'72'6c'6c'6d;  // "mllrmpi1"
  std::uint64_t magic = kMagic;
  std::int32_t stages = 1, process = 0;
  std::string host, boot;
  std::uint64_t process_namespace = 0;
};
template <typename Archive>
void visit_fields(Archive& archive, MpiHello& hello) {
  archive(hello.magic, hello.stages, hello.process, hello.host, hello.boot, hello.process_namespace);
}

// What this process says of itself.
MpiHello own_hello(int stages);

// What each of so many ranks has said, of which all must know of so many stages. kInvalidArgument naming the rank that
// differs, kInternal where they are others than `ranks`.
Result<std::vector<MpiHello>> read_hellos(std::span<const std::vector<std::byte>> all, int ranks, int stages);

}  // namespace millrace::comm
