#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "backend/device_view.h"
#include "tensor/view.h"

namespace millrace::backend {

// A backend's record of one allocation. Its destructor frees the memory. The backend must outlive it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // See DeviceBuffer::populate.
  virtual void populate(std::size_t /*offset*/, std::size_t /*bytes*/) const noexcept {}
  // See DeviceBuffer::give_back.
  virtual void give_back(std::size_t /*offset*/, std::size_t /*bytes*/) const noexcept {}
};

// Memory of a device, allocated by Backend::allocate: zeroed, aligned to at least 64 bytes. The host passes its
// addresses to operations and never reads them. Move-only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceAddress address, std::size_t bytes, std::unique_ptr<const DeviceMemory> memory) noexcept
      : address_(address), bytes_(bytes), memory_(std::move(memory)) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer old;
    old.swap(other);
    swap(old);
    return *this;
  }

  DeviceAddress address() const noexcept { return address_; }
  std::size_t size() const noexcept { return bytes_; }  // bytes
  // A view of the first rows * columns elements, contiguous.
  DeviceView view(std::int64_t rows, std::int64_t columns, DType dtype = DType::kF32) const {
    DCHECK(static_cast<std::size_t>(rows * columns) * size_of(dtype) <= bytes_);
    return {address_, dtype, {rows, columns}};
  }
  // Makes the system back these bytes with memory now instead of at first use. Changes no byte; failures are ignored.
  // Any thread, also while the device works.
  void populate(std::size_t offset, std::size_t bytes) const noexcept {
    if (memory_ != nullptr) memory_->populate(offset, bytes);
  }
  // Gives what memory lies wholly within these bytes back to the system, where the device can. Their contents are lost.
  // No operation may use them meanwhile; a later one that writes them gets memory again.
  void give_back(std::size_t offset, std::size_t bytes) const noexcept {
    if (memory_ != nullptr) memory_->give_back(offset, bytes);
  }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
  }
  DeviceAddress address_;
  std::size_t bytes_ = 0;
  std::unique_ptr<const DeviceMemory> memory_;
};

// A vector of f32 weights, of a norm or the biases of a product. Made by Backend::make_vector and const afterwards.
// Empty if the model has none.
class DeviceVector {
 public:
  DeviceVector() = default;
  DeviceVector(DeviceBuffer memory, std::int64_t size) noexcept : memory_(std::move(memory)), size_(size) {}

  DeviceAddress address() const noexcept { return memory_.address(); }  // null where empty
  std::int64_t size() const noexcept { return size_; }                  // elements
  bool empty() const noexcept { return size_ == 0; }

 private:
  DeviceBuffer memory_;
  std::int64_t size_ = 0;
};

// Results of a device, readable on the host while this object lives, until an operation overwrites them.
class HostView {
 public:
  HostView() = default;
  // `keep` owns what the view needs, such as a copy in host memory; null: nothing.
  explicit HostView(TensorView view, std::shared_ptr<const void> keep = nullptr) noexcept
      : view_(view), keep_(std::move(keep)) {}

  const TensorView& view() const noexcept { return view_; }
  void release() noexcept { view_ = {}, keep_.reset(); }

 private:
  TensorView view_;
  std::shared_ptr<const void> keep_;
};

}  // namespace millrace::backend
