#include "text/containers/protobuf_reader.h"

#include <bit>

#include "base/error.h"

namespace millrace::text {

void ProtobufReader::damaged(std::string_view what) const {
  throw_load_error(ErrorCode::kBadFile, name_, "{}: field {}: {}", name_, field_, what);
}

std::uint64_t ProtobufReader::read_varint() {
  std::uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) damaged("the message ends inside a number");
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return out;
  }
  damaged("a number of more than 10 bytes");
}

std::string_view ProtobufReader::read_bytes(std::uint64_t size) {
  if (size > rest_.size()) {
    throw_load_error(ErrorCode::kBadFile, name_, "{}: field {}: {} bytes, where {} are left", name_, field_, size,
                     rest_.size());
  }
  const std::string_view out = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(out.size());
  return out;
}

bool ProtobufReader::next() {
  if (rest_.empty()) return false;
  const std::uint64_t key = read_varint();
  field_ = static_cast<std::uint32_t>(key >> 3);
  type_ = key & 7;
  if (key >> 3 == 0 || key >> 3 >= 1u << 29) damaged("no such field can be");
  switch (type_) {
    case kVarint: varint_ = read_varint(); break;
    case kFixed64: value_ = read_bytes(8); break;
    case kBytes: value_ = read_bytes(read_varint()); break;
    case kFixed32: value_ = read_bytes(4); break;
    default: damaged("no such wire type, or a group");
  }
  return true;
}

void ProtobufReader::expect(WireType type) const {
  if (type_ != type) damaged("a value of another type");
}

std::uint64_t ProtobufReader::varint() const {
  expect(kVarint);
  return varint_;
}

float ProtobufReader::number() const {
  expect(kFixed32);
  std::uint32_t bits = 0;
  for (std::size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(value_[i]);
  return std::bit_cast<float>(bits);
}

std::string_view ProtobufReader::bytes() const {
  expect(kBytes);
  return value_;
}

}  // namespace millrace::text
