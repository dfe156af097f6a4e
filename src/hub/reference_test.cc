#include "hub/reference.h"

#include <gtest/gtest.h>

#include "hub/gguf_name.h"
#include "hub/model_address.h"
#include "hub/repository_file.h"

namespace millrace::hub {
namespace {

TEST(RepositoryReference, ReadsNameSelectorAndRevisionInEitherOrder) {
  const auto reference = parse_reference("hf://org/name:Q4_K_M@refs/pr/1").or_throw();
  EXPECT_EQ(reference.name, "org/name");
  EXPECT_EQ(reference.selector, "Q4_K_M");
  EXPECT_EQ(reference.revision, "refs/pr/1");
  EXPECT_TRUE(reference.names_revision);
  EXPECT_EQ(parse_reference("org/name@v1:Q8/model.gguf").or_throw().text(), "org/name:Q8/model.gguf@v1");
  EXPECT_EQ(parse_reference("gpt2").or_throw().revision, "main");
  EXPECT_FALSE(parse_reference("gpt2").or_throw().names_revision);
}

TEST(RepositoryReference, RefusesWhatNoHubWouldName) {
  for (const std::string& text :
       {std::string(), std::string("a/b/c"), std::string("a//b"), std::string("org/..x"), std::string("org/na me"),
        std::string("org/n\0x", 7), std::string("org--x/y"), std::string("-x/y"), std::string("org/x:"),
        std::string("org/x@"), std::string("org/x:a:b"), std::string("org/x@a@b"), std::string("org/x@../y"),
        std::string("org/x:a\nb"), std::string(5000, 'a')}) {
    EXPECT_FALSE(parse_reference(text)) << text;
  }
}

TEST(RepositoryReference, ReadsAddressesOfTheHub) {
  const std::pair<const char*, const char*> kPages[] = {
      {"hf.co/org/name", "org/name"},
      {"hf.co/org/name:Q4_K_M", "org/name:Q4_K_M"},
      {"HuggingFace.co/org/name:Q4_K_M@v1", "org/name:Q4_K_M@v1"},
      {"https://huggingface.co/org/name", "org/name"},
      {"https://huggingface.co/org/name/", "org/name"},
      {"http://hf.co/org/name", "org/name"},
      {"https://www.huggingface.co/org/name?library=gguf#files", "org/name"},
      {"https://huggingface.co/gpt2", "gpt2"},
      {"https://huggingface.co/org/name/tree/v1", "org/name@v1"},
      {"https://huggingface.co/org/name/tree/refs%2Fpr%2F1", "org/name@refs/pr/1"},
      {"https://huggingface.co/org/name/blob/v1/m-Q4_0.gguf", "org/name:m-Q4_0.gguf@v1"},
      {"https://huggingface.co/org/name/blob/refs%2Fpr%2F1/m.gguf", "org/name:m.gguf@refs/pr/1"},
      {"https://huggingface.co/org/name/resolve/main/Q8/m.gguf?download=true", "org/name:Q8/m.gguf"}};
  for (const auto& [text, expected] : kPages) {
    const auto reference = parse_reference(text);
    ASSERT_TRUE(reference) << text << ": " << reference.error().message;
    EXPECT_EQ(reference->text(), expected) << text;
    EXPECT_TRUE(reference->names_hub) << text;
  }
  EXPECT_FALSE(is_path_reference("hf.co/org/name/blob/main/m.gguf"));
  EXPECT_FALSE(parse_reference("org/name").or_throw().names_hub);
}

TEST(RepositoryReference, SaysWhatToWriteInsteadOfAnotherLibrarysName) {
  const std::pair<const char*, const char*> kOthers[] = {
      {"ollama://llama3", "org/name"},
      {"docker.io/ai/smollm2", "no registry of containers"},
      {"https://registry.ollama.ai/library/llama3", "ollama"},
      {"https://ollama.com/library/llama3", "ollama"},
      {"oci://ghcr.io/x/y", "no registry of containers"},
      {"s3://bucket/model", "copy the model"},
      {"file:///models/m.gguf", "write the path alone"},
      {"modelscope.cn/org/name", "ModelScope"},
      {"ftp://host/m.gguf", "ftp:// is not known"},
      {"https://example.com/m.gguf", "only addresses of huggingface.co"},
      {"https://huggingface.co.evil.example/org/name", "only addresses of huggingface.co"},
      {"https://huggingface.co/datasets/org/name", "datasets"},
      {"https://huggingface.co/org/name/discussions/1", "no page of a repository"},
      {"https://huggingface.co/org/name/blob/main/README.md", "not a .gguf file"},
      {"https://huggingface.co/org/name/tree/main/folder", "a folder"},
      {"https://huggingface.co/", "names no model"}};
  for (const auto& [text, expected] : kOthers) {
    const auto reference = parse_reference(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().code, ErrorCode::kUnsupported) << text;
    EXPECT_NE(reference.error().message.find(expected), std::string::npos) << text << ": " << reference.error().message;
  }
}

TEST(RepositoryReference, KnowsTheShortNamesOfOllama) {
  for (const char* text :
       {"llama3.2", "llama3.2:1b", "qwen2.5:7b", "Mistral", "gemma3", "gpt-oss:20b", "smollm2:135m"}) {
    const auto instead = ollama_name(text);
    ASSERT_TRUE(instead) << text;
    EXPECT_NE(instead->find("https://huggingface.co/models?search="), std::string::npos);
  }
  for (const char* text :
       {"gpt2", "distilgpt2", "bert-base-uncased", "t5-small", "org/llama3.2", "default", "nosuch"}) {
    EXPECT_FALSE(ollama_name(text)) << text;
  }
}

TEST(RepositoryFile, NamesStayInTheSnapshot) {
  for (const char* name : {"a", "a/b.json", "a.b/..c", "q 4.gguf", "h\xC3\xA9.txt", "1/2/3/4/5/6/7/8"}) {
    EXPECT_TRUE(is_safe_file_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("../a"),
        std::string("a/.."), std::string("./a"), std::string("a\\b"), std::string("c:a"), std::string("a\0b", 3),
        std::string("a\nb"), std::string(256, 'a'), std::string("1/2/3/4/5/6/7/8/9")}) {
    EXPECT_FALSE(is_safe_file_name(name)) << name;
  }
  std::string long_name;
  for (int i = 0; i < 4; ++i) long_name += std::string(140, 'a') + "/";
  EXPECT_FALSE(is_safe_file_name(long_name + "a"));
}

TEST(RepositoryFile, TagsLoseQuotesAndWeakness) {
  EXPECT_EQ(normalized_etag("W/\"abc\""), "abc");
  EXPECT_EQ(normalized_etag("\"abc-2\""), "abc-2");
  EXPECT_EQ(normalized_etag("abc"), "abc");
  EXPECT_TRUE(is_safe_etag("abc-2"));
  EXPECT_FALSE(is_safe_etag("../x"));
  EXPECT_FALSE(is_safe_etag(""));
}

TEST(GgufName, FindsTheQuantizationInTheWaysItIsWritten) {
  const auto quantization = [](const char* path) { return parse_gguf_name(path).quantization; };
  EXPECT_EQ(quantization("SmolLM2-135M-Instruct.Q4_1.gguf"), "Q4_1");
  EXPECT_EQ(quantization("Llama-3.2-1B-Instruct-Q4_K_M.gguf"), "Q4_K_M");
  EXPECT_EQ(quantization("ggml-model-q4_0.gguf"), "Q4_0");
  EXPECT_EQ(quantization("qwen2.5-0.5b-instruct-iq4_nl.gguf"), "IQ4_NL");
  EXPECT_EQ(quantization("Qwen3-8B-UD-Q4_K_XL.gguf"), "UD-Q4_K_XL");
  EXPECT_EQ(quantization("gpt-oss-20b-mxfp4.gguf"), "MXFP4");
  EXPECT_EQ(quantization("gemma_F16.GGUF"), "F16");
  EXPECT_EQ(quantization("BF16/Model-00001-of-00002.gguf"), "BF16");
  EXPECT_EQ(quantization("model-Q8_0-to-Q4_K_S.gguf"), "Q4_K_S");
  EXPECT_EQ(quantization("gemma-7b.gguf"), "");
  EXPECT_EQ(quantization("FAQ4_Knights.gguf"), "");
}

TEST(GgufName, ShardsShareAStem) {
  const GgufName name = parse_gguf_name("Q8_0/big-Q8_0-00002-of-00010.gguf");
  EXPECT_EQ(name.stem, "Q8_0/big-Q8_0");
  EXPECT_EQ(name.part, 2);
  EXPECT_EQ(name.parts, 10);
  EXPECT_EQ(parse_gguf_name("big-00000-of-00002.gguf").parts, 1);
  EXPECT_EQ(parse_gguf_name("big-00003-of-00002.gguf").parts, 1);
}

}  // namespace
}  // namespace millrace::hub
