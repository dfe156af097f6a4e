#include "checkpoint/gguf_parts.h"

#include <fmt/format.h>

#include <utility>

namespace millrace::checkpoint {
namespace {

constexpr std::int64_t kMaxParts = 1024;

std::string ending(std::int64_t number, std::int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number, count);
}

template <typename... Args>
[[noreturn]] void fail(const std::string& field, fmt::format_string<Args...> format, Args&&... args) {
  throw_load_error(ErrorCode::kBadFile, field, "{}", fmt::format(format, std::forward<Args>(args)...));
}

void check_part(const GgufMetadata& metadata, std::int64_t number, std::int64_t count) {
  const std::int64_t no = metadata.integer("split.no").value_or(-1), of = metadata.integer("split.count").value_or(-1);
  if (no != number - 1 || of != count) {
    fail("split.no", "{}: part {} of {} expected, found split.no {} and split.count {}", metadata.file(), number, count,
         no, of);
  }
}

void append(std::vector<RawTensor> tensors, int file, Checkpoint& checkpoint) {
  for (RawTensor& tensor : tensors) {
    tensor.file = file;
    const bool is_new = checkpoint.tensor_index.emplace(tensor.name, checkpoint.tensors.size()).second;
    if (!is_new)
      fail(tensor.name, "{}: tensor {} is in another part too", checkpoint.files.back()->path(), tensor.name);
    checkpoint.tensors.push_back(std::move(tensor));
  }
}

}  // namespace

void add_gguf_parts(Env& env, const GgufHeader& first, Checkpoint& checkpoint) {
  const std::int64_t count = first.metadata.integer("split.count").value_or(1);
  if (count <= 1) return;
  if (count > kMaxParts)
    fail("split.count", "{}: split.count is {}; the limit is {}", checkpoint.path, count, kMaxParts);
  check_part(first.metadata, 1, count);
  if (!checkpoint.path.ends_with(ending(1, count))) {
    fail("split.count", "{}: the first of {} parts; its name must end in {} so that the others are found",
         checkpoint.path, count, ending(1, count));
  }
  const std::string stem = checkpoint.path.substr(0, checkpoint.path.size() - ending(1, count).size());
  for (std::int64_t number = 2; number <= count; ++number) {
    checkpoint.files.push_back(env.open(stem + ending(number, count)).or_throw());
    GgufHeader part = read_gguf_header(*checkpoint.files.back());
    check_part(part.metadata, number, count);
    append(std::move(part.tensors), static_cast<int>(number - 1), checkpoint);
  }
  const auto expected = first.metadata.integer("split.tensors.count");
  if (expected && *expected != static_cast<std::int64_t>(checkpoint.tensors.size())) {
    fail("split.tensors.count", "{}: {} tensors in {} parts, split.tensors.count is {}", checkpoint.path,
         checkpoint.tensors.size(), count, *expected);
  }
}

}  // namespace millrace::checkpoint
