#include "checkpoint/gguf_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/gguf_reader.h"

namespace millrace::checkpoint {
namespace {

std::vector<GgufEntry> every_type() {
  return {{"general.architecture", std::string("test")},
          {"u8", std::uint8_t{200}},
          {"i8", std::int8_t{-5}},
          {"u16", std::uint16_t{60000}},
          {"i16", std::int16_t{-300}},
          {"u32", std::uint32_t{4000000000u}},
          {"i32", std::int32_t{-7}},
          {"f32", 1.5f},
          {"bool", true},
          {"text", std::string("a\0b\xff", 4)},
          {"u64", ~std::uint64_t{0}},
          {"i64", std::int64_t{-1}},
          {"f64", 0.1},
          {"empty", GgufArray{std::vector<float>{}}},
          {"bools", GgufArray{std::vector<bool>{true, false, true}}},
          {"words", GgufArray{std::vector<std::string>{"", "x", "yz"}}},
          {"doubles", GgufArray{std::vector<double>{0.1, -2.0}}},
          {"nested", GgufArray{std::vector<GgufArray>{GgufArray{std::vector<std::int64_t>{1, 2}},
                                                      GgufArray{std::vector<std::string>{"n"}}}}}};
}

std::byte data_byte(std::size_t tensor, std::size_t i) { return static_cast<std::byte>((tensor * 31 + i * 7) & 0xff); }

std::string temporary_path(const char* name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

TEST(GgufWriter, WhatIsWrittenIsReadBack) {
  std::vector<TensorSpec> tensors;
  for (const quant::QuantFormat& format : quant::all_formats()) {
    if (format.gguf_type >= 0) tensors.push_back({std::string(format.name) + ".weight", &format, Shape{3, 256}});
  }
  tensors.push_back({"rank4", quant::find_format("f32"), Shape{2, 3, 1, 5}});
  const std::string path = temporary_path("round_trip.gguf");
  // Delivered in two pieces: the writer must not care.
  const auto source = [&](std::size_t tensor, const DataSink& sink) -> Result<void> {
    std::vector<std::byte> bytes(tensors[tensor].bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = data_byte(tensor, i);
    if (auto first = sink(std::span(bytes).first(5)); !first) return first;
    return sink(std::span(bytes).subspan(5));
  };
  const auto metadata = every_type();
  const auto written = write_gguf(path, metadata, tensors, source);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));

  const auto file = Env::system().open(path).or_throw();
  const GgufHeader header = read_gguf_header(*file);
  EXPECT_EQ(header.version, 3u);
  EXPECT_TRUE(std::ranges::equal(header.metadata.entries(), metadata));
  ASSERT_EQ(header.tensors.size(), tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    EXPECT_EQ(header.tensors[t].name, tensors[t].name);
    EXPECT_EQ(header.tensors[t].format, tensors[t].format);
    EXPECT_EQ(header.tensors[t].shape, tensors[t].shape);
    std::vector<std::byte> bytes(header.tensors[t].bytes);
    ASSERT_TRUE(file->read(header.tensors[t].offset, bytes));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ(bytes[i], data_byte(t, i)) << tensors[t].name << " byte " << i;
  }
  std::filesystem::remove(path);
}

TEST(GgufWriter, LeavesNothingBehindWhenTheDataFallShort) {
  const std::string path = temporary_path("short.gguf");
  const std::vector<TensorSpec> tensors = {{"t", quant::find_format("f32"), Shape{4}}};
  const std::vector<std::byte> bytes(20);
  for (const std::size_t size : {12, 20}) {
    const auto written = write_gguf(path, every_type(), tensors, [&](std::size_t, const DataSink& sink) {
      return sink(std::span(bytes).first(size));
    });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, size == 12 ? "tensor 't': 12 bytes delivered, 16 announced"
                                                  : "tensor 't': more than the 16 bytes announced");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(GgufWriter, RefusesWhatTheReaderWould) {
  const auto message = [](TensorSpec tensor) { return gguf_header_bytes({}, std::span(&tensor, 1)).error().message; };
  EXPECT_EQ(message({"t", quant::find_format("q4_k"), Shape{2, 128}}),
            "tensor 't': rows are not a multiple of the format's block");
  EXPECT_EQ(message({"t", quant::find_format("f32"), Shape{}}), "tensor 't': GGUF holds no f32 of rank 0");
  EXPECT_EQ(message({"t", quant::find_format("f32"), Shape{0}}),
            "tensor 't': dimensions must be positive and their product fit 63 bits");
}

}  // namespace
}  // namespace millrace::checkpoint
