#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace millrace {

using Sha256Digest = std::array<std::uint8_t, 32>;
std::string hex(const Sha256Digest& digest);  // 64 lower-case digits

// SHA-256 over the bytes of all update() calls. One thread.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(std::span<const std::byte> bytes);
  Sha256Digest finish();  // and starts the next digest

 private:
  void restart();
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace millrace
