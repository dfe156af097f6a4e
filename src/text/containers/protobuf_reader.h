#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::text {

// Reads the fields of one protobuf message (protobuf.dev/programming-guides/encoding). Throws LoadError naming the
// message and the field's number for malformed bytes, or a value of another type than requested.
class ProtobufReader {
 public:
  ProtobufReader(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  bool next();  // moves to the next field; false at the end
  std::uint32_t field() const noexcept { return field_; }

  std::uint64_t varint() const;
  bool boolean() const { return varint() != 0; }
  float number() const;
  std::string_view bytes() const;  // also for a string or a message

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
