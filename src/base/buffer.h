#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace millrace {

// Anonymous memory for weights, KV pages and activations: zeroed, aligned to 64 bytes at least; from 2 MB on it is
// aligned to 2 MB and asks for transparent huge pages (measured: +20-60 % streaming bandwidth of one thread).
// Move-only.
class Buffer {
 public:
  Buffer() = default;
  // kResourceExhausted naming the size if the system has too little memory.
  static Result<Buffer> allocate(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }

  // Makes the system back these bytes with memory now, in huge pages if possible, instead of at the first access, where
  // a huge page costs 0.2 ms, or 5 ms if a virtual machine's host must find it first. Changes no byte; other threads
  // may use them meanwhile. Does nothing before Linux 5.14.
  void populate(std::size_t offset, std::size_t bytes) const noexcept;

  // Gives the whole pages of memory within these bytes back to the system: they read as zeros and cost nothing until
  // they are written again. No other thread may use them meanwhile.
  void give_back(std::size_t offset, std::size_t bytes) const noexcept;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  template <typename T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
  }
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::span<std::byte> mapped_;  // what munmap gets: data_ lies inside it
};

}  // namespace millrace
