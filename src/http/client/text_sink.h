#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "http/client/http_client.h"

namespace millrace::http {

// Collects a response of at most `limit` bytes; ends the exchange beyond that.
class TextSink final : public HttpSink {
 public:
  explicit TextSink(std::uint64_t limit) : limit_(limit) {}
  bool begin(const HttpResponse&) override {
    text_.clear();
    return true;
  }
  bool write(std::span<const std::byte> body) override {
    if (body.size() > limit_ - text_.size()) return false;
    text_.append(reinterpret_cast<const char*>(body.data()), body.size());
    return true;
  }
  std::string take() { return std::move(text_); }

 private:
  std::uint64_t limit_;
  std::string text_;
};

}  // namespace millrace::http
