#include "base/sha256.h"

#include <openssl/evp.h>

#include <new>
#include <string_view>

#include "base/check.h"

namespace millrace {
namespace {

// Fetched once: looking an algorithm up costs more than hashing a page's tokens.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched != nullptr ? fetched : EVP_sha256();
}

}  // namespace

std::string hex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  if (!context_) throw std::bad_alloc();
  restart();
}

Sha256::~Sha256() = default;

void Sha256::restart() { CHECK_EQ(EVP_DigestInit_ex(context_.get(), algorithm(), nullptr), 1); }

void Sha256::update(std::span<const std::byte> bytes) {
  CHECK_EQ(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), 1);
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest;
  CHECK_EQ(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr), 1);
  restart();
  return digest;
}

}  // namespace millrace
