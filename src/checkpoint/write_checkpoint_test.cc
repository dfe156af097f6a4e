#include "checkpoint/write_checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "checkpoint/gguf_reader.h"

namespace millrace::checkpoint {
namespace {

namespace fs = std::filesystem;

const fs::path kTiny = fs::path(MILLRACE_TEST_DATA) / "../golden/tiny/llama";

class WriteCheckpoint : public testing::Test {
 protected:
  WriteCheckpoint() { fs::create_directories(folder_); }
  ~WriteCheckpoint() override { fs::remove_all(folder_); }
  static void expect_equal_tensors(const Checkpoint& a, const Checkpoint& b) {
    ASSERT_EQ(a.tensors.size(), b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
      const RawTensor &x = a.tensors[i], *y = b.find(x.name);
      ASSERT_NE(y, nullptr) << x.name;
      ASSERT_EQ(x.bytes, y->bytes);
      EXPECT_EQ(x.format, y->format);
      EXPECT_EQ(x.shape, y->shape);
      std::vector<std::byte> left(x.bytes), right(x.bytes);
      a.read(x, 0, left).or_throw();
      b.read(*y, 0, right).or_throw();
      EXPECT_EQ(left, right) << x.name;
    }
  }

  fs::path folder_ = fs::temp_directory_path() / ("write_checkpoint_" + std::to_string(::getpid()));
  WorkerTeam team_{3};
};

TEST_F(WriteCheckpoint, CopiesAGgufFile) {
  const auto from = open_checkpoint(Env::system(), kTiny / "model.gguf").or_throw();
  const std::string path = folder_ / "copy.gguf";
  std::uint64_t seen = 0;
  write_checkpoint(*from, path, {}, team_, [&](std::uint64_t bytes) { seen = bytes; }).or_throw();
  const auto copy = open_checkpoint(Env::system(), path).or_throw();
  expect_equal_tensors(*from, *copy);
  const GgufHeader before = read_gguf_header(*from->files.front()), after = read_gguf_header(*copy->files.front());
  EXPECT_TRUE(std::ranges::equal(before.metadata.entries(), after.metadata.entries()));
  std::uint64_t all = 0;
  for (const RawTensor& tensor : from->tensors) all += tensor.bytes;
  EXPECT_EQ(seen, all);
  const auto again = write_checkpoint(*from, path, {}, team_, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().param, "out");
}

TEST_F(WriteCheckpoint, ChangesMetadata) {
  const auto from = open_checkpoint(Env::system(), kTiny / "model.gguf").or_throw();
  const std::string path = folder_ / "changed.gguf";
  write_checkpoint(*from, path, {.metadata = {{"general.name", std::string("other")}, {"new", 1.5f}}}, team_, {})
      .or_throw();
  const auto copy = open_checkpoint(Env::system(), path).or_throw();
  EXPECT_EQ(copy->name, "other");
  const GgufHeader header = read_gguf_header(*copy->files.front());
  EXPECT_EQ(header.metadata.number("new"), 1.5);
}

TEST_F(WriteCheckpoint, CopiesADirectoryWithoutOtherWeights) {
  const fs::path source = folder_ / "source";
  fs::create_directory(source);
  for (const char* name : {"config.json", "model.safetensors"}) fs::copy_file(kTiny / name, source / name);
  for (const char* name : {"tokenizer_config.json", "LICENSE", "pytorch_model.bin", "model.safetensors.index.json"}) {
    std::ofstream(source / name) << "{}";
  }
  const auto from = open_checkpoint(Env::system(), source).or_throw();
  const std::string path = folder_ / "copy";
  write_checkpoint(*from, path, {.config = {{"tie_word_embeddings", true}, {"extra", 5}}}, team_, {}).or_throw();
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"LICENSE", "config.json", "model.safetensors", "tokenizer_config.json"}));
  const auto copy = open_checkpoint(Env::system(), path).or_throw();
  expect_equal_tensors(*from, *copy);
  EXPECT_EQ(copy->config.json.at("extra"), 5);
  EXPECT_EQ(copy->config.json.at("tie_word_embeddings"), true);
  EXPECT_EQ(copy->config.json.at("hidden_size"), from->config.json.at("hidden_size"));
}

// A tensor that cannot be read, as where a file shrank.
TEST_F(WriteCheckpoint, LeavesNothingWhereReadingFails) {
  for (const char* name : {"model.gguf", ""}) {
    const auto from = open_checkpoint(Env::system(), kTiny / name).or_throw();
    from->tensors.back().offset += std::uint64_t{1} << 40;
    EXPECT_FALSE(write_checkpoint(*from, folder_ / "out", {}, team_, {}));
    EXPECT_TRUE(fs::is_empty(folder_)) << name;
  }
}

}  // namespace
}  // namespace millrace::checkpoint
