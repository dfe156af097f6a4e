#include "checkpoint/checkpoint_copy.h"

#include <utility>

#include "base/error.h"

namespace millrace::checkpoint {
namespace {

class SharedFile final : public RandomAccessFile {
 public:
  SharedFile(std::shared_ptr<const Checkpoint> owner, const RandomAccessFile& file)
      : owner_(std::move(owner)), file_(file) {}
  std::uint64_t size() const noexcept override { return file_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override { return file_.read(offset, out); }
  const std::string& path() const noexcept override { return file_.path(); }
  std::int64_t modified() const noexcept override { return file_.modified(); }

 private:
  const std::shared_ptr<const Checkpoint> owner_;
  const RandomAccessFile& file_;
};

}  // namespace

std::unique_ptr<Checkpoint> copy_checkpoint(std::shared_ptr<const Checkpoint> original) {
  auto copy = std::make_unique<Checkpoint>();
  copy->container = original->container;
  copy->path = original->path;
  copy->config = original->config;
  copy->name = original->name;
  copy->generation = original->generation;
  copy->chat_templates = original->chat_templates;
  copy->tokenizer = original->tokenizer;
  copy->merged = original->merged;
  copy->tensors = original->tensors;
  copy->tensor_index = original->tensor_index;
  copy->integers = original->integers;
  copy->integer_index = original->integer_index;
  for (const auto& file : original->files) copy->files.push_back(std::make_unique<SharedFile>(original, *file));
  return copy;
}

void index_names(Checkpoint& checkpoint) {
  const auto add = [&](auto& index, const RawTensor& tensor, std::size_t number) {
    if (index.emplace(tensor.name, number).second) return;
    throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor '{}' is there twice", checkpoint.path, tensor.name);
  };
  checkpoint.tensor_index.clear();
  checkpoint.integer_index.clear();
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) add(checkpoint.tensor_index, checkpoint.tensors[i], i);
  for (std::size_t i = 0; i < checkpoint.integers.size(); ++i) {
    add(checkpoint.integer_index, checkpoint.integers[i].tensor, i);
  }
}

}  // namespace millrace::checkpoint
