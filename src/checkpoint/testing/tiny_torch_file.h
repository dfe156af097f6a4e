#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::checkpoint {

// For tests: valid small files as torch.save writes them. Tests change them to make them invalid.

template <typename... Numbers>
std::string little_endian(Numbers... numbers) {
  std::string out;
  (out.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return out;
}

// A zip file of uncompressed entries.
struct TinyZip {
  struct Entry {
    std::string name, data;
    std::uint16_t flags = 0, method = 0;
    std::string local_name = name;     // name in the local header
    std::uint64_t size = data.size();  // size in the central directory
    std::int64_t moved = 0;            // added to the offset in the central directory
    std::string extra{};               // extra field of the local header
  };
  std::vector<Entry> entries;
  bool zip64 = true;                               // has ZIP64 records and extra fields
  std::uint64_t more_entries = 0, more_bytes = 0;  // added to entries and directory bytes in the end record
  std::string behind_directory{}, comment{};

  std::string bytes() const {
    using u16 = std::uint16_t;
    using u32 = std::uint32_t;
    using u64 = std::uint64_t;
    std::string out, directory;
    for (const Entry& entry : entries) {
      const u64 offset = out.size() + static_cast<u64>(entry.moved);
      const auto size = static_cast<u32>(entry.data.size());
      out += little_endian(u32{0x04034b50}, u16{45}, entry.flags, entry.method, u32{0}, u32{0}, size, size,
                           u16(entry.local_name.size()), u16(entry.extra.size())) +
             entry.local_name + entry.extra + entry.data;
      const u32 in64 = 0xffffffff;
      const std::string extra = zip64 ? little_endian(u16{1}, u16{24}, entry.size, entry.size, offset) : "";
      directory += little_endian(u32{0x02014b50}, u16{45}, u16{45}, entry.flags, entry.method, u32{0}, u32{0},
                                 zip64 ? in64 : u32(entry.size), zip64 ? in64 : u32(entry.size), u16(entry.name.size()),
                                 u16(extra.size()), u16{0}, u16{0}, u16{0}, u32{0}, zip64 ? in64 : u32(offset)) +
                   entry.name + extra;
    }
    const u64 begin = out.size(), n = entries.size() + more_entries, bytes = directory.size() + more_bytes;
    out += directory + behind_directory;
    if (zip64) {
      const u64 record = out.size();
      out += little_endian(u32{0x06064b50}, u64{44}, u16{45}, u16{45}, u32{0}, u32{0}, n, n, bytes, begin);
      out += little_endian(u32{0x07064b50}, u32{0}, record, u32{1});
      out += little_endian(u32{0x06054b50}, u16{0}, u16{0}, u16{0xffff}, u16{0xffff}, u32{0xffffffff}, u32{0xffffffff});
    } else {
      out += little_endian(u32{0x06054b50}, u16{0}, u16{0}, u16(n), u16(n), u32(bytes), u32(begin));
    }
    return out + little_endian(u16(comment.size())) + comment;
  }
};

// Parts of a pickle of protocol 2, as bytes.
namespace pickled {

inline std::string text(std::string_view value) {
  return "X" + little_endian(static_cast<std::uint32_t>(value.size())) + std::string(value);
}
inline std::string number(std::int64_t value) { return "\x8a\x08" + little_endian(value); }
inline std::string numbers(const std::vector<std::int64_t>& values) {
  std::string out = "(";
  for (const std::int64_t value : values) out += number(value);
  return out + "t";
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string ordered_dict(const std::string& items = {}, const std::string& state = {}) {
  return global("collections", "OrderedDict") + ")R" + (items.empty() ? "" : "(" + items + "u") +
         (state.empty() ? "" : state + "b");
}
inline std::string whole(const std::string& body) { return "\x80\x02" + body + "."; }

}  // namespace pickled

// A tensor of a state dict: a view of a storage.
struct TinyTorchTensor {
  std::string name;
  std::vector<std::int64_t> shape, strides;
  std::string key = "0", storage = "FloatStorage", device = "cpu";
  std::int64_t elements = 0;  // of the storage
  std::int64_t offset = 0;    // of the first element in the storage
  bool parameter = false;     // an nn.Parameter

  std::string value() const {
    const std::string id = "(" + pickled::text("storage") + pickled::global("torch", storage) + pickled::text(key) +
                           pickled::text(device) + pickled::number(elements) + "tQ";
    const std::string tensor = pickled::global("torch._utils", "_rebuild_tensor_v2") + "(" + id +
                               pickled::number(offset) + pickled::numbers(shape) + pickled::numbers(strides) + "\x89" +
                               pickled::ordered_dict() + "tR";
    if (!parameter) return tensor;
    return pickled::global("torch._utils", "_rebuild_parameter") + tensor + "\x88" + pickled::ordered_dict() + "\x87R";
  }
};

// A file with a state dict of two tensors: "a", f32 [2, 3], and "b", f16 [4].
struct TinyTorchFile {
  std::vector<TinyTorchTensor> tensors = {
      {.name = "a", .shape = {2, 3}, .strides = {3, 1}, .elements = 6},
      {.name = "b", .shape = {4}, .strides = {1}, .key = "1", .storage = "HalfStorage", .elements = 4},
  };
  TinyZip zip = {
      .entries = {{"tiny/data.pkl", ""},
                  {"tiny/byteorder", "little"},
                  {"tiny/data/0", std::string(24, 'a'), 0, 0, "tiny/data/0", 24, 0, "FB\x02" + std::string(3, '\0')},
                  {"tiny/data/1", std::string(8, 'b')},
                  {"tiny/version", "3\n"}}};
  std::string pickle{};  // replaces the pickle of `tensors`; empty: not

  std::string state() const {
    std::string items;
    for (const TinyTorchTensor& tensor : tensors) items += pickled::text(tensor.name) + tensor.value();
    const std::string metadata = "}" + pickled::text("_metadata") + pickled::ordered_dict() + "s";
    return pickled::whole(pickled::ordered_dict(items, metadata));
  }
  void add_storage(const std::string& key, std::string data) {
    zip.entries.push_back({"tiny/data/" + key, std::move(data)});
  }
  std::string bytes() const {
    TinyZip out = zip;
    out.entries[0].data = pickle.empty() ? state() : pickle;
    out.entries[0].size = out.entries[0].data.size();
    return out.bytes();
  }
};

}  // namespace millrace::checkpoint
