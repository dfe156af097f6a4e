#include "engine/snapshot_bytes.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "base/checksum.h"
#include "engine/snapshot_fields.h"

namespace millrace::engine {
namespace {

constexpr std::uint32_t kSnapshotVersion = 7;  // goes up with every change of snapshot_fields.h

struct Head {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t length;  // of what follows
  std::uint64_t checksum;
};
static_assert(sizeof(Head) == 32);

constexpr std::array<char, 8> kSequence = {'m', 'r', '-', 's', 'e', 'q', 'u', 'e'};
constexpr std::array<char, 8> kSession = {'m', 'r', '-', 's', 'e', 's', 's', 'i'};

template <typename T>
std::vector<std::byte> write(const T& value, const std::array<char, 8>& magic) {
  ByteWriter writer;
  writer(value);
  const std::vector<std::byte> body = writer.take();
  const Head head{magic, kSnapshotVersion, 0, body.size(), checksum(body)};
  std::vector<std::byte> out(sizeof(head));
  std::memcpy(out.data(), &head, sizeof(head));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

template <typename... Args>
Error unreadable(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "snapshot", format, std::forward<Args>(args)...);
}

template <typename T>
Result<T> read(std::span<const std::byte> bytes, const std::array<char, 8>& magic, std::string_view kind) {
  Head head{};
  if (bytes.size() < sizeof(head)) return unreadable("the snapshot has {} bytes: its head alone has 32", bytes.size());
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.magic != magic) return unreadable("this is no snapshot of a {}", kind);
  if (head.version != kSnapshotVersion) {
    return unreadable("the snapshot is of version {}: this build has version {}", head.version, kSnapshotVersion);
  }
  const auto body = bytes.subspan(sizeof(head));
  if (body.size() != head.length) {
    return unreadable("the snapshot is truncated: {} of {} bytes are there", body.size(), head.length);
  }
  if (checksum(body) != head.checksum) return unreadable("the snapshot is damaged: its checksum is another one");
  ByteReader reader(body);
  T value;
  reader(value);
  if (!reader.ok() || reader.left() > 0) return unreadable("the snapshot's fields do not fit its length");
  return value;
}

}  // namespace

std::vector<std::byte> to_bytes(const SequenceSnapshot& snapshot) { return write(snapshot, kSequence); }
std::vector<std::byte> to_bytes(const SessionSnapshot& snapshot) { return write(snapshot, kSession); }

Result<SequenceSnapshot> sequence_from_bytes(std::span<const std::byte> bytes) {
  return read<SequenceSnapshot>(bytes, kSequence, "sequence");
}

Result<SessionSnapshot> session_from_bytes(std::span<const std::byte> bytes) {
  return read<SessionSnapshot>(bytes, kSession, "session");
}

}  // namespace millrace::engine
