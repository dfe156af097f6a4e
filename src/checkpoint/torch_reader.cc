#include "checkpoint/torch_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/folded_shape.h"
#include "checkpoint/pickle_reader.h"
#include "checkpoint/quote_name.h"
#include "checkpoint/torch_archive.h"

namespace millrace::checkpoint {
namespace {

// What a state dict may name, in this order: the classes of storages follow.
enum Global : std::size_t { kOrderedDict, kRebuildTensor, kRebuildParameter, kFirstStorage };
constexpr PickleName kNames[] = {
    {"collections.OrderedDict", true},
    {"torch._utils._rebuild_tensor_v2"},
    {"torch._utils._rebuild_parameter"},
    {"torch.FloatStorage"},
    {"torch.HalfStorage"},
    {"torch.BFloat16Storage"},
    {"torch.LongStorage"},
    {"torch.IntStorage"},
    {"torch.ByteStorage"},
    {"torch.BoolStorage"},
    {"torch.DoubleStorage"},
    {"torch.ShortStorage"},
    {"torch.CharStorage"},
};
// What safetensors calls the elements of each class of storage, and their bytes.
struct Elements {
  std::string_view dtype;
  std::int64_t bytes;
};
constexpr Elements kElements[] = {{"F32", 4}, {"F16", 2},  {"BF16", 2}, {"I64", 8}, {"I32", 4},
                                  {"U8", 1},  {"BOOL", 1}, {"F64", 8},  {"I16", 2}, {"I8", 1}};
static_assert(std::size(kNames) == kFirstStorage + std::size(kElements));

constexpr std::size_t kMaxDims = 8;
struct Storage {
  std::uint64_t offset = 0;  // in the file
  std::int64_t elements = 0;
  std::size_t kind = 0;  // of kElements
};

class TorchFile {
 public:
  TorchFile(const RandomAccessFile& file, bool integers) : file_(file), integers_(integers), archive_(file) {}

  // Integers have no format; their shape and bytes tell how wide they are.
  std::vector<RawTensor> read() {
    const ZipEntry& entry = archive_.pickle();
    if (entry.bytes > kTorchMaxPickleBytes) {
      throw_load_error(ErrorCode::kBadFile, "data.pkl", "{}: data.pkl has {} bytes, at most {} expected", path(),
                       entry.bytes, kTorchMaxPickleBytes);
    }
    BoundedReader in(file_, entry.offset, entry.bytes);
    pickle_ = read_pickle(in, kNames);
    const auto* state = pickle_.get_if<PickleDict>(pickle_.root);
    if (state == nullptr) reject_torch_file(path(), "it holds something other than a dictionary of tensors");
    std::vector<RawTensor> tensors;
    std::unordered_set<std::string> names;
    for (const auto& [key, value] : state->items) {
      const auto* name = pickle_.get_if<std::string>(key);
      if (name == nullptr) reject_torch_file(path(), "its dictionary has a key that is no text");
      if (!names.insert(*name).second) fail(*name, "the name occurs twice");
      tensors.push_back(tensor(*name, value));
    }
    check_apart(tensors);
    return tensors;
  }

 private:
  const std::string& path() const { return file_.path(); }

  template <typename... Args>
  [[noreturn]] void fail(const std::string& name, fmt::format_string<Args...> format, Args&&... args) const {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {}: {}", path(), quote_name(name),
                     fmt::format(format, std::forward<Args>(args)...));
  }

  // The arguments of a call of this global; null if the value is something else.
  const std::vector<PickleRef>* arguments_of(PickleRef value, Global global) const {
    const auto* call = pickle_.get_if<PickleCall>(value);
    if (call == nullptr || pickle_.get_if<PickleGlobal>(call->callee)->number != global) return nullptr;
    return &pickle_.get_if<PickleTuple>(call->arguments)->items;
  }

  // _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks[, metadata]), and that as the first
  // argument of _rebuild_parameter.
  RawTensor tensor(const std::string& name, PickleRef value) {
    const auto* parameter = arguments_of(value, kRebuildParameter);
    if (parameter != nullptr && !parameter->empty()) value = parameter->front();
    const auto* arguments = arguments_of(value, kRebuildTensor);
    if (arguments == nullptr) {
      reject_torch_file(path(), quote_name(name) + " is no tensor: only a dictionary of names and tensors is read");
    }
    if (arguments->size() < 4) fail(name, "it is made of {} values, 4 or more expected", arguments->size());
    const Storage& storage = storage_of(name, (*arguments)[0]);
    const auto* first = pickle_.get_if<std::int64_t>((*arguments)[1]);
    if (first == nullptr || *first < 0) fail(name, "its offset in the storage is no number from 0 on");
    const std::vector<std::int64_t> dims = numbers(name, (*arguments)[2]);
    RawTensor tensor{.name = name, .shape = shape_of(name, dims)};
    check_dense(name, dims, numbers(name, (*arguments)[3]));
    const std::int64_t elements = tensor.shape.elements();
    if (*first > storage.elements || elements > storage.elements - *first) {
      fail(name, "{} values of {} from {} on do not lie inside its storage of {}", elements, tensor.shape.to_string(),
           *first, storage.elements);
    }
    const Elements& kind = kElements[storage.kind];
    tensor.format = quant::find_safetensors_dtype(kind.dtype);
    const IntegerDtype* integer = integers_ && tensor.format == nullptr ? find_integer_dtype(kind.dtype) : nullptr;
    if (integer != nullptr) tensor.integer_dtype = integer->name;
    if (tensor.format == nullptr && integer == nullptr) {
      throw_load_error(ErrorCode::kUnsupported, name, "{}: tensor {}: dtype {} is not supported", path(),
                       quote_name(name), quote_name(kind.dtype));
    }
    tensor.offset = storage.offset + static_cast<std::uint64_t>(*first * kind.bytes);
    tensor.bytes = static_cast<std::uint64_t>(elements * kind.bytes);
    return tensor;
  }

  std::vector<std::int64_t> numbers(const std::string& name, PickleRef value) const {
    const auto* tuple = pickle_.get_if<PickleTuple>(value);
    if (tuple == nullptr || tuple->items.size() > kMaxDims) fail(name, "its shape or strides are no few numbers");
    std::vector<std::int64_t> out;
    for (const PickleRef item : tuple->items) {
      const auto* number = pickle_.get_if<std::int64_t>(item);
      if (number == nullptr) fail(name, "its shape or strides are no few numbers");
      out.push_back(*number);
    }
    return out;
  }

  Shape shape_of(const std::string& name, const std::vector<std::int64_t>& dims) const {
    std::int64_t elements = 1;
    for (const std::int64_t dim : dims) {
      if (dim < 1) fail(name, "a dimension is {}, expected 1 to 2^63 - 1", dim);
      const auto product = checked_mul(elements, dim);
      if (!product) fail(name, "the product of its dimensions overflows");
      elements = *product;
    }
    return folded_shape(dims);
  }

  void check_dense(const std::string& name, const std::vector<std::int64_t>& dims,
                   const std::vector<std::int64_t>& strides) const {
    bool dense = strides.size() == dims.size();
    std::int64_t next = 1;
    for (std::size_t i = dims.size(); i-- > 0 && dense;) {
      if (dims[i] == 1) continue;  // such a step is never taken
      dense = strides[i] == next;
      next *= dims[i];
    }
    if (!dense) {
      fail(name, "its strides [{}] do not go through [{}] value by value: save tensor.contiguous()",
           fmt::join(strides, ", "), fmt::join(dims, ", "));
    }
  }

  // ('storage', class, key, device, elements): the elements are the file data/KEY.
  const Storage& storage_of(const std::string& name, PickleRef value) {
    const auto* persistent = pickle_.get_if<PicklePersistent>(value);
    const auto* id = persistent == nullptr ? nullptr : pickle_.get_if<PickleTuple>(persistent->id);
    if (id == nullptr || id->items.size() != 5) fail(name, "its storage is not named as torch names one");
    const auto* word = pickle_.get_if<std::string>(id->items[0]);
    const auto* type = pickle_.get_if<PickleGlobal>(id->items[1]);
    const auto* key = pickle_.get_if<std::string>(id->items[2]);
    const auto* elements = pickle_.get_if<std::int64_t>(id->items[4]);
    if (word == nullptr || *word != "storage" || type == nullptr || type->number < kFirstStorage || key == nullptr ||
        elements == nullptr) {
      fail(name, "its storage is not named as torch names one");
    }
    const std::size_t kind = type->number - kFirstStorage;
    const auto known = storages_.find(*key);
    if (known != storages_.end()) {
      if (known->second.kind != kind || known->second.elements != *elements) {
        fail(name, "its storage {} is of another type or size elsewhere", quote_name(*key));
      }
      return known->second;
    }
    const ZipEntry* entry = archive_.storage(*key);
    if (entry == nullptr) fail(name, "its storage data/{} is not in the file", quote_name(*key));
    const auto bytes = checked_mul(*elements, kElements[kind].bytes);
    if (!bytes || *bytes < 0 || static_cast<std::uint64_t>(*bytes) != entry->bytes) {
      fail(name, "its storage data/{} has {} bytes, expected {} values of {}", quote_name(*key), entry->bytes,
           *elements, kElements[kind].dtype);
    }
    return storages_.emplace(*key, Storage{entry->offset, *elements, kind}).first->second;
  }

  // Sorts them by offset. Tensors may be the same bytes, but few times: what a model takes in memory is then a small
  // multiple of its files at most, whatever they say.
  void check_apart(std::vector<RawTensor>& tensors) const {
    std::ranges::stable_sort(tensors, {}, &RawTensor::offset);
    int sharing = 1;
    for (std::size_t i = 1; i < tensors.size(); ++i) {
      const RawTensor &a = tensors[i - 1], &b = tensors[i];
      const bool same = a.offset == b.offset && a.bytes == b.bytes;
      if (!same && b.offset - a.offset < a.bytes) fail(b.name, "it overlaps tensor {}", quote_name(a.name));
      sharing = same ? sharing + 1 : 1;
      if (sharing > kTorchMaxSharing) fail(b.name, "more than {} tensors are the same bytes", kTorchMaxSharing);
    }
  }

  const RandomAccessFile& file_;
  bool integers_;
  TorchArchive archive_;
  Pickle pickle_;
  std::unordered_map<std::string, Storage> storages_;
};

}  // namespace

std::vector<RawTensor> read_torch_file(const RandomAccessFile& file, std::vector<IntegerTensor>* integers) {
  std::vector<RawTensor> tensors = TorchFile(file, integers != nullptr).read();
  set_integers_apart(tensors, integers);
  return tensors;
}

}  // namespace millrace::checkpoint
