#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hub/repository_file.h"

struct evp_md_ctx_st;

namespace millrace::hub {

// The hash of a file's bytes as they arrive, of the kind that its tag is. Computes nothing for Digest::kNone.
class ContentHash {
 public:
  ContentHash(RepositoryFile::Digest digest, std::uint64_t file_bytes);
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void restart();
  void update(std::span<const std::byte> bytes);
  std::string finish();  // in hexadecimal; empty for kNone

 private:
  RepositoryFile::Digest digest_;
  std::uint64_t file_bytes_;
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace millrace::hub
