#include "checkpoint/torch_reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fstream>

#include "base/error.h"
#include "base/memory_env.h"
#include "checkpoint/pickle_reader.h"
#include "checkpoint/testing/tiny_torch_file.h"
#include "checkpoint/zip_directory.h"

namespace millrace::checkpoint {
namespace {

using pickled::global;
using pickled::number;
using pickled::text;
using pickled::whole;

auto read(MemoryEnv& env, std::vector<IntegerTensor>* integers = nullptr) {
  const auto file = env.open("m.bin").or_throw();
  return read_torch_file(*file, integers);
}

auto read(const std::string& bytes, std::vector<IntegerTensor>* integers = nullptr) {
  MemoryEnv env;
  env.files["m.bin"] = bytes;
  return read(env, integers);
}

// "opened", or the error, without what is the same in all.
std::string unpickled(const std::string& bytes, bool integers = false) {
  std::vector<IntegerTensor> found;
  try {
    read(bytes, integers ? &found : nullptr);
    return "opened";
  } catch (const LoadError& e) {
    const std::string message = e.what();
    EXPECT_EQ(message.find("m.bin: "), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(7);
  }
}

std::string unpickled(const TinyTorchFile& file) { return unpickled(file.bytes()); }

std::string outcome_of_pickle(const std::string& pickle) {
  TinyTorchFile file;
  file.pickle = pickle;
  return unpickled(file);
}

const std::string kAsCode = ": refused, as reading it would run code; convert the file to safetensors";
const std::string kConvert = "; load it with torch where you trust it, and save it with safetensors.torch.save_file";

TEST(TorchFile, ReadsNamesShapesAndBytes) {
  for (const bool zip64 : {true, false}) {
    TinyTorchFile tiny;
    tiny.zip.zip64 = zip64;
    tiny.tensors[1].parameter = true;
    const std::string bytes = tiny.bytes();
    const auto tensors = read(bytes);
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(tensors[0].name, "a");
    EXPECT_EQ(tensors[0].shape, (Shape{2, 3}));
    EXPECT_EQ(tensors[0].format->name, "f32");
    EXPECT_EQ(bytes.substr(tensors[0].offset, tensors[0].bytes), std::string(24, 'a'));
    EXPECT_EQ(tensors[1].name, "b");
    EXPECT_EQ(tensors[1].shape, (Shape{4}));
    EXPECT_EQ(tensors[1].format->name, "f16");
    EXPECT_EQ(bytes.substr(tensors[1].offset, tensors[1].bytes), std::string(8, 'b'));
  }
}

TEST(TorchFile, HonoursOffsetsInStorages) {
  TinyTorchFile tiny;
  tiny.tensors = {{.name = "upper", .shape = {2}, .strides = {1}, .elements = 6, .offset = 4},
                  {.name = "lower", .shape = {2, 2}, .strides = {2, 1}, .elements = 6}};
  const auto tensors = read(tiny.bytes());
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "lower");
  EXPECT_EQ(tensors[1].name, "upper");
  EXPECT_EQ(tensors[1].offset, tensors[0].offset + 16);
  tiny.tensors[0].offset = 5;
  EXPECT_EQ(unpickled(tiny), "tensor 'upper': 2 values of [2] from 5 on do not lie inside its storage of 6");
  tiny.tensors[0].offset = -1;
  EXPECT_EQ(unpickled(tiny), "tensor 'upper': its offset in the storage is no number from 0 on");
  tiny.tensors[0].offset = INT64_MAX;
  EXPECT_EQ(unpickled(tiny),
            "tensor 'upper': 2 values of [2] from 9223372036854775807 on do not lie inside its storage of 6");
}

TEST(TorchFile, TensorsMayBeTheSameBytesButNotOverlap) {
  TinyTorchFile tiny;
  for (const char* name : {"c", "d", "e"}) {
    tiny.tensors.push_back(tiny.tensors[0]);
    tiny.tensors.back().name = name;
  }
  EXPECT_EQ(unpickled(tiny), "opened");
  tiny.tensors.push_back(tiny.tensors[0]);
  tiny.tensors.back().name = "f";
  EXPECT_EQ(unpickled(tiny), "tensor 'f': more than 4 tensors are the same bytes");
  tiny.tensors = {{.name = "a", .shape = {4}, .strides = {1}, .elements = 6},
                  {.name = "b", .shape = {4}, .strides = {1}, .elements = 6, .offset = 2}};
  EXPECT_EQ(unpickled(tiny), "tensor 'b': it overlaps tensor 'a'");
  tiny.tensors[1] = {.name = "b", .shape = {5}, .strides = {1}, .elements = 6};
  EXPECT_EQ(unpickled(tiny), "tensor 'b': it overlaps tensor 'a'");
}

TEST(TorchFile, RefusesTensorsThatAreNotDense) {
  TinyTorchFile tiny;
  tiny.tensors[0].strides = {1, 2};
  EXPECT_EQ(unpickled(tiny),
            "tensor 'a': its strides [1, 2] do not go through [2, 3] value by value: save tensor.contiguous()");
  tiny.tensors[0].strides = {0, 1};
  EXPECT_NE(unpickled(tiny), "opened");
  tiny.tensors[0].strides = {3};
  EXPECT_NE(unpickled(tiny), "opened");
  tiny.tensors[0].shape = {1, 3, 1, 1, 2};
  tiny.tensors[0].strides = {6, 2, 2, 2, 1};
  EXPECT_EQ(unpickled(tiny), "opened");
  // Nobody takes a step along a dimension of one.
  tiny.tensors[0].shape = {1, 6};
  tiny.tensors[0].strides = {77, 1};
  EXPECT_EQ(unpickled(tiny), "opened");
}

TEST(TorchFile, RefusesShapesAndStoragesThatLie) {
  TinyTorchFile tiny;
  tiny.tensors[0].shape = {0};
  EXPECT_EQ(unpickled(tiny), "tensor 'a': a dimension is 0, expected 1 to 2^63 - 1");
  tiny.tensors[0].shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_EQ(unpickled(tiny), "tensor 'a': the product of its dimensions overflows");
  tiny.tensors[0].shape = std::vector<std::int64_t>(9, 1);
  EXPECT_EQ(unpickled(tiny), "tensor 'a': its shape or strides are no few numbers");
  tiny = {};
  tiny.tensors[0].elements = 5;
  EXPECT_EQ(unpickled(tiny), "tensor 'a': its storage data/'0' has 24 bytes, expected 5 values of F32");
  for (const std::int64_t lie : {std::int64_t{-6}, (std::int64_t{1} << 62) + 6, INT64_MIN}) {
    tiny.tensors[0].elements = lie;
    EXPECT_NE(unpickled(tiny), "opened") << lie;
  }
  tiny = {};
  tiny.tensors[0].key = "../data/0";
  EXPECT_EQ(unpickled(tiny), "tensor 'a': its storage data/'../data/0' is not in the file");
  tiny = {};
  tiny.tensors[1].key = "0";
  EXPECT_EQ(unpickled(tiny), "tensor 'b': its storage '0' is of another type or size elsewhere");
  tiny = {};
  tiny.tensors[1].name = "a";
  EXPECT_EQ(unpickled(tiny), "tensor 'a': the name occurs twice");
}

TEST(TorchFile, RefusesOtherDtypesByName) {
  TinyTorchFile tiny;
  tiny.tensors = {{.name = "a", .shape = {3}, .strides = {1}, .storage = "DoubleStorage", .elements = 3}};
  EXPECT_EQ(unpickled(tiny), "tensor 'a': dtype 'F64' is not supported");
  EXPECT_EQ(unpickled(tiny.bytes(), true), "tensor 'a': dtype 'F64' is not supported");
  tiny.tensors[0].storage = "LongStorage";
  EXPECT_EQ(unpickled(tiny), "tensor 'a': dtype 'I64' is not supported");
  EXPECT_EQ(unpickled(tiny.bytes(), true), "opened");
  tiny.tensors = {{.name = "a", .shape = {12}, .strides = {1}, .storage = "ShortStorage", .elements = 12}};
  EXPECT_EQ(unpickled(tiny), "tensor 'a': dtype 'I16' is not supported");
  EXPECT_EQ(unpickled(tiny.bytes(), true), "opened");
  tiny.tensors[0].storage = "ComplexFloatStorage";
  EXPECT_EQ(unpickled(tiny), "it names 'torch.ComplexFloatStorage'" + kAsCode);
}

TEST(TorchFile, KeepsIntegersApart) {
  TinyTorchFile tiny;
  tiny.tensors.push_back(
      {.name = "d2t", .shape = {2}, .strides = {1}, .key = "2", .storage = "LongStorage", .elements = 2});
  tiny.tensors.push_back(
      {.name = "t2d", .shape = {3}, .strides = {1}, .key = "3", .storage = "BoolStorage", .elements = 3});
  tiny.add_storage("2", little_endian(std::int64_t{5}, std::int64_t{-1}));
  tiny.add_storage("3", std::string("\1\0\1", 3));
  std::vector<IntegerTensor> integers;
  EXPECT_EQ(read(tiny.bytes(), &integers).size(), 2u);
  ASSERT_EQ(integers.size(), 2u);
  EXPECT_EQ(integers[0].tensor.name, "d2t");
  EXPECT_EQ(integers[0].value_bytes, 8);
  EXPECT_EQ(integers[1].value_bytes, 1);
}

TEST(TorchFile, RunsNothing) {
  const std::string marker = testing::TempDir() + "millrace_pickle_ran";
  // What `pickle` would call os.system with.
  const std::string attack = whole(global("os", "system") + text("touch " + marker) + "\x85R");
  EXPECT_EQ(outcome_of_pickle(attack), "it names 'os.system'" + kAsCode);
  EXPECT_EQ(outcome_of_pickle(whole(text("posix") + text("system") + "\x93" + text("touch " + marker) + "\x85R")),
            "it names 'posix.system'" + kAsCode);
  // Within a state dict, behind good tensors.
  TinyTorchFile tiny;
  tiny.pickle = tiny.state();
  tiny.pickle.insert(tiny.pickle.size() - 1, "0" + global("builtins", "eval") + text("1") + "\x85R");
  EXPECT_EQ(unpickled(tiny).find("opcode 0x30 at byte"), 0u);
  tiny.pickle = whole(pickled::ordered_dict(text("a") + global("builtins", "eval") + text("1") + "\x85R"));
  EXPECT_EQ(unpickled(tiny), "it names 'builtins.eval'" + kAsCode);
  EXPECT_FALSE(std::ifstream(marker).good());
}

TEST(TorchFile, RefusesEveryOtherOpcode) {
  const std::string known("(.JKMNQRXGabcehjqrstu])}\x80\x85\x86\x87\x88\x89\x8a\x8c\x93\x94\x95");
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (known.find(static_cast<char>(opcode)) != std::string::npos && opcode != 0x80) continue;
    const std::string message = outcome_of_pickle("\x80\x02" + std::string(1, static_cast<char>(opcode)) + "0000.");
    EXPECT_EQ(message.find(fmt::format("opcode 0x{:02x} at byte", opcode)), 0u) << message;
    EXPECT_NE(message.find("is not one that tensors need" + kAsCode), std::string::npos) << message;
  }
}

TEST(TorchFile, CallsNothingButWhatItKnows) {
  const std::string dict = global("collections", "OrderedDict");
  EXPECT_EQ(outcome_of_pickle(whole(text("a") + ")R")), "it calls something that is no function" + kAsCode);
  EXPECT_EQ(outcome_of_pickle(whole(dict + text("a") + "R")), "it calls something that is no function" + kAsCode);
  EXPECT_EQ(outcome_of_pickle(whole(dict + "]\x85R")),
            "it holds something other than a dictionary of tensors" + kConvert);
  EXPECT_EQ(outcome_of_pickle(whole(dict + "}b")), "it sets the state of something that is no dictionary" + kAsCode);
  EXPECT_EQ(outcome_of_pickle(whole("}" + text("a") + dict + "s")),
            "'a' is no tensor: only a dictionary of names and tensors is read" + kConvert);
  EXPECT_EQ(outcome_of_pickle(whole("}" + text("epoch") + number(3) + "s")),
            "'epoch' is no tensor: only a dictionary of names and tensors is read" + kConvert);
  EXPECT_EQ(outcome_of_pickle(whole("}" + number(3) + number(3) + "s")),
            "its dictionary has a key that is no text" + kConvert);
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  EXPECT_EQ(outcome_of_pickle(whole("}" + text("a") + rebuild + ")Rs")),
            "tensor 'a': it is made of 0 values, 4 or more expected");
  EXPECT_EQ(outcome_of_pickle(whole("}" + text("a") + rebuild + "(NNNNtRs")),
            "tensor 'a': its storage is not named as torch names one");
  EXPECT_EQ(outcome_of_pickle(whole("}" + text("a") + rebuild + "((NNNNNtQNNNtRs")),
            "tensor 'a': its storage is not named as torch names one");
}

TEST(TorchFile, RefusesPicklesThatMakeNoSense) {
  const auto at_byte = [](const std::string& pickle) {
    const std::string message = outcome_of_pickle(pickle);
    EXPECT_EQ(message.find("byte "), 0u) << message;
    return message.substr(message.find(": ") + 2);
  };
  EXPECT_EQ(at_byte("}."), "a pickle of protocol 2 or later expected");
  EXPECT_EQ(at_byte("\x80\x01}."), "pickle protocol 1, 2 to 5 expected");
  EXPECT_EQ(at_byte("\x80\x06}."), "pickle protocol 6, 2 to 5 expected");
  EXPECT_EQ(at_byte("\x80\x02."), "an opcode needs 1 values and has 0");
  EXPECT_EQ(at_byte("\x80\x02}}."), "the pickle ends with more than one value");
  EXPECT_EQ(at_byte("\x80\x02}.}"), "there are bytes behind the pickle's end");
  EXPECT_EQ(at_byte(whole("}t")), "an opcode needs a mark and there is none");
  EXPECT_EQ(at_byte(whole("}(Ns")), "an opcode needs 2 values and has 1");
  EXPECT_EQ(at_byte(whole("}(Nu")), "a dictionary gets a key without a value");
  EXPECT_EQ(at_byte(whole("](NNu")), "an opcode needs a dictionary");
  EXPECT_EQ(at_byte(whole("}Na")), "an opcode needs a list");
  EXPECT_EQ(at_byte(whole("(NNu")), "an opcode needs a dictionary");
  EXPECT_EQ(at_byte(whole("q\x01")), "there is nothing to remember");
  EXPECT_EQ(at_byte(whole("h\x01")), "nothing was remembered as 1");
  EXPECT_EQ(at_byte(whole("}q\x05h\x04")), "nothing was remembered as 4");
  EXPECT_EQ(at_byte(whole("}r\xff\xff\xff\x7f")), "remembers more than 2097152 values");
  EXPECT_EQ(at_byte(whole("NN\x93")), "a global has a name that is no text");
  EXPECT_EQ(at_byte(whole("\x8a\x09"
                          "123456789")),
            "a number of 9 bytes, at most 8");
  EXPECT_EQ(at_byte(whole("c" + std::string(300, 'x'))), "the name of a global has more than 256 bytes");
  EXPECT_EQ(at_byte(whole("X" + little_endian(std::uint32_t{70'000}))), "a text of 70000 bytes, at most 65536");
  EXPECT_EQ(at_byte(whole(std::string(1001, '('))), "values nest more than 1000 deep");
}

TEST(TorchFile, ReadsNumbersAsPythonWritesThem) {
  MemoryEnv env;
  const std::string one_and_a_half("G\x3f\xf8\0\0\0\0\0\0", 9);
  env.files["p"] = whole("(K\xc8M" + little_endian(std::uint16_t{32768}) + "J" + little_endian(std::int32_t{-1}) +
                         std::string("\x8a\x00\x8a\x02\x00\xff\x8a\x01\x80", 9) + one_and_a_half + "\x88Nt");
  const auto file = env.open("p").or_throw();
  BoundedReader in(*file, 0, file->size());
  const Pickle read = read_pickle(in, {});
  const auto* tuple = read.get_if<PickleTuple>(read.root);
  ASSERT_NE(tuple, nullptr);
  std::vector<std::int64_t> integers;
  for (std::size_t i = 0; i < 6; ++i) integers.push_back(*read.get_if<std::int64_t>(tuple->items.at(i)));
  EXPECT_EQ(integers, (std::vector<std::int64_t>{200, 32768, -1, 0, -256, -128}));
  EXPECT_EQ(*read.get_if<double>(tuple->items.at(6)), 1.5);
  EXPECT_EQ(*read.get_if<bool>(tuple->items.at(7)), true);
  EXPECT_NE(read.get_if<PickleNone>(tuple->items.at(8)), nullptr);
}

TEST(TorchFile, ReadsLaterProtocols) {
  TinyTorchFile tiny;
  std::string state = tiny.state();
  state[1] = '\x04';
  tiny.pickle = state.substr(0, 2) + "\x95" + little_endian(std::uint64_t{state.size() - 2}) + state.substr(2);
  EXPECT_EQ(unpickled(tiny), "opened");
  // Names of globals from the stack, remembered in order.
  const std::string old = global("torch", "FloatStorage");
  const std::string later =
      "\x8c\x05torch\x94\x8c\x0c"
      "FloatStorage\x94\x93\x94";
  const std::size_t at = tiny.pickle.find(old);
  ASSERT_NE(at, std::string::npos);
  tiny.pickle.replace(at, old.size(), later);
  EXPECT_EQ(unpickled(tiny), "opened");
  tiny.pickle = state.substr(0, 2) + "\x95" + little_endian(std::uint64_t{1} << 40) + state.substr(2);
  EXPECT_NE(unpickled(tiny).find("pickle frame"), std::string::npos);
}

// A value that holds itself is nothing that anybody walks along.
TEST(TorchFile, AValueMayHoldItself) {
  EXPECT_EQ(outcome_of_pickle(whole("}q\x01" + text("a") + "h\x01s")),
            "'a' is no tensor: only a dictionary of names and tensors is read" + kConvert);
  EXPECT_EQ(outcome_of_pickle(whole("}" + text("a") +
                                    "]q\x01h\x01"
                                    "as")),
            "'a' is no tensor: only a dictionary of names and tensors is read" + kConvert);
}

TEST(TorchFile, RefusesOtherFilesSayingHowToConvertThem) {
  EXPECT_EQ(unpickled("abc"), "no zip file, or truncated: it has no end record");
  EXPECT_EQ(unpickled(std::string(100, 'x')), "no zip file, or truncated: it does not end with an end record");
  EXPECT_EQ(unpickled(std::string("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", 21)),
            "the format of torch before 1.6 is not read" + kConvert);
  EXPECT_EQ(unpickled("\x80\x04\x95" + std::string(60, 'x')), "a bare pickle is not read" + kConvert);
  TinyTorchFile tiny;
  tiny.zip.entries.push_back({"tiny/code/__torch__/m.py", "x", 0, 8});
  EXPECT_EQ(unpickled(tiny), "TorchScript, which is code, is not read" + kConvert);
  tiny.zip.entries.back() = {"tiny/constants.pkl", "x"};
  EXPECT_EQ(unpickled(tiny), "TorchScript, which is code, is not read" + kConvert);
  tiny.zip.entries.back() = {"other/data.pkl", "x"};
  EXPECT_EQ(unpickled(tiny), "it holds several files called data.pkl" + kConvert);
  tiny = {};
  tiny.zip.entries[1].data = "big", tiny.zip.entries[1].size = 3;
  EXPECT_EQ(unpickled(tiny), "its byte order is 'big', not little" + kConvert);
  tiny = {};
  tiny.zip.entries[3].method = 8;
  EXPECT_EQ(unpickled(tiny), "its zip entry 'tiny/data/1' is compressed" + kConvert);
  tiny = {};
  tiny.zip.entries[0].name = tiny.zip.entries[0].local_name = "tiny/other.pkl";
  EXPECT_EQ(unpickled(tiny), "a zip file, but none of torch.save: it has no data.pkl");
  tiny = {};
  tiny.pickle = std::string(kTorchMaxPickleBytes + 1, 'x');
  EXPECT_EQ(unpickled(tiny), "data.pkl has 16777217 bytes, at most 16777216 expected");
}

TEST(TorchFile, IsRefusedCutAtAnyByte) {
  for (const bool zip64 : {true, false}) {
    TinyTorchFile tiny;
    tiny.zip.zip64 = zip64;
    const std::string whole_file = tiny.bytes();
    for (std::size_t n = 0; n < whole_file.size(); ++n) {
      EXPECT_NE(unpickled(whole_file.substr(0, n)), "opened") << n;
      EXPECT_NE(unpickled(whole_file.substr(n + 1)), "opened") << n;
    }
  }
}

TEST(TorchFile, IsReadOrRefusedWithAnyByteChanged) {
  TinyTorchFile tiny;
  const std::string good = tiny.bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      unpickled(bad);  // ends, and says what is wrong in one line
    }
  }
}

TEST(TorchFile, PassesOnErrorsOfTheDisk) {
  MemoryEnv env;
  env.files["m.bin"] = TinyTorchFile().bytes();
  for (std::int64_t n = 0;; ++n) {
    env.reads = 0;
    env.fail_read = n;
    try {
      read(env);
      EXPECT_GT(n, 5);
      break;
    } catch (const LoadError& e) {
      EXPECT_NE(std::string(e.what()).find("I/O error"), std::string::npos) << e.what();
    }
  }
}

TEST(ZipDirectory, RefusesEntriesThatLie) {
  const auto error = [](const auto& change) {
    TinyTorchFile tiny;
    change(tiny.zip);
    return unpickled(tiny);
  };
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[2].size = 23; }),
            "tensor 'a': its storage data/'0' has 23 bytes, expected 6 values of F32");
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[2].size = 60; }),
            "zip entry 'tiny/data/1': it overlaps the entry before it");
  EXPECT_NE(error([](TinyZip& zip) { zip.entries[4].size = 3; }).find("do not lie in front of the directory"),
            std::string::npos);
  EXPECT_NE(error([](TinyZip& zip) { zip.entries[4].size = UINT64_MAX; }).find("do not lie in front of the directory"),
            std::string::npos);
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[4].moved = 1; }),
            "zip entry 'tiny/version': there is no header where the directory says");
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[4].moved = std::int64_t{1} << 62; }),
            "zip entry 'tiny/version': its header does not lie in front of the directory");
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[4].local_name = "tiny/versiom"; }),
            "zip entry 'tiny/version': its header has another name");
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[4].local_name = "tiny/version.txt"; }),
            "zip entry 'tiny/version': its header has another name");
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[4].flags = 1; }), "zip entry 'tiny/version': it is encrypted");
  EXPECT_EQ(error([](TinyZip& zip) { zip.entries[4] = zip.entries[3]; }),
            "zip entry 'tiny/data/1': the name occurs twice");
  EXPECT_EQ(error([](TinyZip& zip) { zip.comment = "hello"; }),
            "no zip file, or truncated: it does not end with an end record");
  EXPECT_NE(error([](TinyZip& zip) { zip.behind_directory = "x"; }).find("does not end at"), std::string::npos);
  EXPECT_NE(error([](TinyZip& zip) { zip.more_bytes = 1; }).find("does not end at"), std::string::npos);
  EXPECT_NE(error([](TinyZip& zip) { zip.more_bytes = UINT64_MAX - 10; }).find("does not end at"), std::string::npos);
  EXPECT_NE(error([](TinyZip& zip) { zip.more_entries = 1; }).find("bytes left of this part of the file"),
            std::string::npos);
  EXPECT_NE(
      error([](TinyZip& zip) { zip.more_entries = std::uint64_t{1} << 60; }).find("items of 46 bytes or more expected"),
      std::string::npos);
  EXPECT_EQ(error([](TinyZip& zip) { zip.more_entries = UINT64_MAX; }), "the zip directory is longer than its entries");
}

}  // namespace
}  // namespace millrace::checkpoint
