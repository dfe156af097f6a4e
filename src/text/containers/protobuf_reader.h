#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::text {

// Walks the fields of one protobuf message (protobuf.dev/programming-guides/encoding). Throws LoadError naming the
// message and the field's number where the bytes are none, or a value has another type than asked for.
class ProtobufReader {
 public:
  ProtobufReader(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  bool next();  // to the next field; false at the end
  std::uint32_t field() const noexcept { return field_; }

  std::uint64_t varint() const;
  bool boolean() const { return varint() != 0; }
  float number() const;
  std::string_view bytes() const;  // also a string or a message

 private:
  enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint64_t read_varint();
  std::string_view read_bytes(std::uint64_t size);
  void expect(WireType type) const;
  [[noreturn]] void damaged(std::string_view what) const;

  std::string_view rest_;
  std::string name_;
  std::uint32_t field_ = 0;
  std::uint8_t type_ = kVarint;
  std::uint64_t varint_ = 0;
  std::string_view value_;  // of all but a varint
};

}  // namespace millrace::text
