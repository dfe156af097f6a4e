#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace millrace::kv {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

// The memory behind page numbers: what one page holds is its keys and values of all layers. Calls take effect in order,
// before the next step of the model; none while a step runs.
class PageDevice {
 public:
  virtual ~PageDevice() = default;
  virtual std::size_t page_bytes() const noexcept = 0;
  virtual void copy(BlockId from, BlockId to) = 0;
  virtual void read(BlockId page, std::span<std::byte> out) const = 0;  // out has page_bytes()
  virtual void write(BlockId page, std::span<const std::byte> in) = 0;
  // No table holds the page any more: a device that checks spoils what is in it.
  virtual void freed(BlockId /*page*/) {}
  // Where copies of pages in host memory are.
  virtual std::pmr::memory_resource& host_memory() noexcept { return *std::pmr::new_delete_resource(); }
};

}  // namespace millrace::kv
