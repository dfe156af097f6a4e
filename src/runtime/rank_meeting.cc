#include "runtime/rank_meeting.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_archive.h"
#include "base/log.h"
#include "base/readable_bytes.h"
#include "checkpoint/content_key.h"

namespace millrace::runtime {
namespace {

// What a rank answers.
struct RankAnswer {
  RankLoaded part = {};
  ErrorCode code = ErrorCode::kInternal;  // where it is not loaded
  std::string param = {}, error = {};
};

template <typename Archive>
void visit_fields(Archive& archive, RankAnswer& a) {
  RankLoaded& p = a.part;
  archive(p.weights, p.all_bytes, p.computation, p.build, p.precision, p.pages, p.bytes_read, p.bytes, p.ms, a.code,
          a.param, a.error);
}

// What of it differs; null: nothing.
const char* difference(const RankLoaded& a, const RankLoaded& b) {
  return a.build != b.build               ? "build"
         : a.weights != b.weights         ? "content of the weights"
         : a.computation != b.computation ? "configuration of the model"
         : a.precision != b.precision     ? "matmul-precision"
         : a.pages != b.pages             ? "format of the KV cache"
                                          : nullptr;
}

void answer(const RankAnswer& answer, comm::Communicator& group) {
  ByteWriter bytes;
  bytes(answer);
  group.answer(bytes.take(), std::chrono::hours(1)).or_throw();
}

void log_part(const std::string& name, int rank, const RankLoaded& part) {
  const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  log::info("{}: rank {} has {} of weights, ready in {:.0f} ms; {} read from files", name, rank,
            readable(part.bytes.packed), part.ms, readable(part.bytes_read));
}

}  // namespace

void report_loaded(const RankLoaded& part, comm::Communicator& group) { answer({.part = part}, group); }

void report_not_loaded(const Error& why, comm::Communicator& group) {
  answer({.code = why.code, .param = why.param, .error = why.message}, group);
}

RankWeights meet_ranks(const RankLoaded& own, const checkpoint::Checkpoint& checkpoint, comm::Communicator& group) {
  const std::string& name = checkpoint.path;
  std::optional<std::uint64_t> all_bytes;
  const auto is_copy = [&](std::uint64_t of_other) {
    if (of_other == 0) return true;
    if (!all_bytes) all_bytes = checkpoint::whole_key(checkpoint);
    return of_other == *all_bytes;
  };
  constexpr std::chrono::milliseconds kLeast{60'000};
  constexpr double kTimes = 20.0;
  const auto timeout = std::max(kLeast, std::chrono::milliseconds(static_cast<std::int64_t>(kTimes * own.ms)));
  log_part(name, 0, own);
  RankWeights of_others;
  for (int rank = 1; rank < group.ranks(); ++rank) {
    const std::vector<std::byte> bytes = group.collect(rank, timeout).or_throw();
    RankAnswer said;
    ByteReader reader(bytes);
    reader(said);
    const bool understood = reader.ok() && reader.left() == 0;
    if (understood && !said.error.empty())
      throw_load_error(said.code, said.param, "{}: {}", group.name_of(rank), said.error);
    const char* other = understood ? difference(said.part, own) : "build";
    if (other == nullptr && !is_copy(said.part.all_bytes)) other = "content of the files";
    if (other != nullptr) {
      throw_load_error(ErrorCode::kInvalidArgument, "tensor-parallel-size", "{} has another {} than rank 0",
                       group.name_of(rank), other);
    }
    if (said.part.all_bytes != 0) {
      log::info("{}: rank {} has files of another time, which were read whole: they are the same", name, rank);
    }
    log_part(name, rank, said.part);
    of_others += said.part.bytes;
  }
  return of_others;
}

}  // namespace millrace::runtime
