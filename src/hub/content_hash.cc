#include "hub/content_hash.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/check.h"

namespace millrace::hub {

ContentHash::ContentHash(RepositoryFile::Digest digest, std::uint64_t file_bytes)
    : digest_(digest), file_bytes_(file_bytes), context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  if (!context_) throw std::bad_alloc();
  restart();
}

ContentHash::~ContentHash() = default;

void ContentHash::restart() {
  if (digest_ == RepositoryFile::Digest::kNone) return;
  const bool git = digest_ == RepositoryFile::Digest::kGitSha1;
  CHECK_EQ(EVP_DigestInit_ex(context_.get(), git ? EVP_sha1() : EVP_sha256(), nullptr), 1);
  if (!git) return;
  const std::string header = fmt::format("blob {}", file_bytes_);
  update(std::as_bytes(std::span(header.c_str(), header.size() + 1)));  // git hashes the zero too
}

void ContentHash::update(std::span<const std::byte> bytes) {
  if (digest_ == RepositoryFile::Digest::kNone) return;
  CHECK_EQ(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), 1);
}

std::string ContentHash::finish() {
  if (digest_ == RepositoryFile::Digest::kNone) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  CHECK_EQ(EVP_DigestFinal_ex(context_.get(), digest.data(), &length), 1);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace millrace::hub
