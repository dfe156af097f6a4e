#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/env.h"

namespace millrace {

// Values to bytes and back: numbers as they lie in memory (little-endian), texts and lists with their length before
// them. A struct takes part by a function template beside it, found by argument-dependent lookup,
//   template <typename Archive> void visit_fields(Archive& archive, T& value) { archive(value.a, value.b); }
// which writes and reads alike. No versions and no types are in the bytes: who reads must know what was written.
class ByteWriter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put_raw(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  void put_size(std::size_t size) { put(static_cast<std::uint64_t>(size)); }

  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::byte>) {
      put_raw(&value, sizeof(value));
    } else {
      visit_fields(*this, const_cast<T&>(value));  // which only reads it
    }
  }
  void put(const std::string& text) {
    put_size(text.size());
    put_raw(text.data(), text.size());
  }
  void put(const TimePoint& time) { put(static_cast<std::int64_t>(time.time_since_epoch().count())); }
  template <typename T>
  void put(const std::vector<T>& list) {
    put_size(list.size());
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      put_raw(list.data(), list.size() * sizeof(T));
    } else if constexpr (std::is_same_v<T, std::byte>) {
      put_raw(list.data(), list.size());
    } else {
      for (const T& value : list) put(value);
    }
  }
  template <typename T, std::size_t N>
  void put(const std::array<T, N>& list) {
    for (const T& value : list) put(value);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename A, typename B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <typename... T>
  void put(const std::variant<T...>& value) {
    put(static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& held) { put(held); }, value);
  }
  void put(const std::monostate&) {}
  template <typename K, typename V, typename... Rest>
  void put(const std::map<K, V, Rest...>& map) {
    put_size(map.size());
    for (const auto& [key, value] : map) put(std::pair<const K&, const V&>(key, value));
  }
  template <typename A, typename B>
  void put(const std::pair<const A&, const B&>& pair) {
    put(pair.first);
    put(pair.second);
  }

  std::vector<std::byte> bytes_;
};

// Reads what ByteWriter wrote. Bytes that end early or say what cannot be make ok() false, and every further read
// leaves its target as it is: look at ok() once, at the end. Never reads or allocates beyond what the bytes can hold.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool ok() const noexcept { return ok_; }
  void fail() noexcept { ok_ = false; }  // for visit_fields() that finds a contradiction
  std::size_t left() const noexcept { return bytes_.size(); }

 private:
  bool get_raw(void* data, std::size_t size) {
    if (!ok_ || size > bytes_.size()) return ok_ = false;
    if (size > 0) std::memcpy(data, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return true;
  }
  // Each entry takes at least `bytes_each`.
  bool get_size(std::size_t& size, std::size_t bytes_each) {
    std::uint64_t found = 0;
    get(found);
    if (!ok_ || found > bytes_.size() / bytes_each) return ok_ = false;
    size = static_cast<std::size_t>(found);
    return true;
  }

  template <typename T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t found = 0;
      if (get_raw(&found, 1)) found > 1 ? void(ok_ = false) : void(value = found == 1);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      get_raw(&value, sizeof(value));
    } else {
      if (ok_) visit_fields(*this, value);
    }
  }
  void get(std::string& text) {
    std::size_t size = 0;
    if (!get_size(size, 1)) return;
    text.resize(size);
    get_raw(text.data(), size);
  }
  void get(TimePoint& time) {
    std::int64_t ticks = 0;
    get(ticks);
    if (ok_) time = TimePoint(TimePoint::duration(ticks));
  }
  template <typename T>
  void get(std::vector<T>& list) {
    std::size_t size = 0;
    if constexpr ((std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || std::is_same_v<T, std::byte>) {
      if (!get_size(size, sizeof(T))) return;
      list.resize(size);
      get_raw(list.data(), size * sizeof(T));
    } else {
      if (!get_size(size, 1)) return;
      list.clear();
      for (std::size_t i = 0; i < size && ok_; ++i) get(list.emplace_back());
    }
  }
  void get(std::vector<bool>& list) {
    std::size_t size = 0;
    if (!get_size(size, 1)) return;
    list.resize(size);
    for (std::size_t i = 0; i < size && ok_; ++i) {
      bool value = false;
      get(value);
      list[i] = value;
    }
  }
  template <typename T, std::size_t N>
  void get(std::array<T, N>& list) {
    for (T& value : list) get(value);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (!ok_) return;
    value.reset();
    if (there) get(value.emplace());
  }
  template <typename A, typename B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  template <typename... T>
  void get(std::variant<T...>& value) {
    std::uint8_t index = 0;
    get(index);
    if (!ok_) return;
    if (index >= sizeof...(T)) return void(ok_ = false);
    get_alternative(value, index, std::index_sequence_for<T...>());
  }
  template <typename V, std::size_t... I>
  void get_alternative(V& value, std::size_t index, std::index_sequence<I...>) {
    ((I == index ? get(value.template emplace<I>()) : void()), ...);
  }
  void get(std::monostate&) {}
  template <typename K, typename V, typename... Rest>
  void get(std::map<K, V, Rest...>& map) {
    std::size_t size = 0;
    if (!get_size(size, 1)) return;
    map.clear();
    for (std::size_t i = 0; i < size && ok_; ++i) {
      std::pair<K, V> entry;
      get(entry);
      map.insert(std::move(entry));
    }
  }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

// For visit_fields() that converts.
template <typename Archive>
inline constexpr bool kReads = std::is_same_v<Archive, ByteReader>;

}  // namespace millrace
