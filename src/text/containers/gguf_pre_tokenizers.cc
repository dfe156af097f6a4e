#include "text/containers/gguf_pre_tokenizers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/regex/known_expressions.h"

namespace millrace::text {
namespace {

using Step = GgufPreTokenizer::Step;

// clang-format off
constexpr std::string_view kKimi =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[)"
    R"(^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han})"
    R"(]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+)"
    R"((?!\S)|\s+)";
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S))"
    R"(|\s+)";
constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p)"
    R"({N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n])"
    R"(+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4})"
    R"((?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kUfakzeka =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kYoutuScripts =
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
    "\ufe30-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view kYoutuWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll)"
    R"(|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|)"
    R"('m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSpark =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"
    R"(|[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kCjk =
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view kDeepseekLetters =
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-"
    "\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481"
    "\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b"
    "\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b"
    "\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb"
    "\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128"
    "\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4"
    "\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf"
    "\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8"
    "-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943]+";
constexpr std::string_view kDeepseekPunctuation =
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+";
constexpr std::string_view kDeepseekCjk =
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";

constexpr Step split(std::string_view regex) { return {Step::kSplit, regex}; }
constexpr Step kEachDigit{Step::kEachDigit, ""}, kDigitRuns{Step::kDigitRuns, ""}, kPunctuation{Step::kPunctuation, ""},
    kGpt2{Step::kGpt2, ""};
using Steps = GgufPreTokenizer::Steps;
constexpr Steps kLlama3{split(kLlama3Regex)}, kQwen2{split(kQwen2Regex)}, kO200k{split(kO200kRegex)},
    kDigitsThenGpt2{kEachDigit, kGpt2}, kBloom{split(kBloomRegex)},
    kDeepseekV3{split(R"(\p{N}{1,3})"), split(kCjk), split(kDeepseekV3Regex)}, kBailingMoe{split(kBailing)};

// To add one: its name here, with the tokenizer.json of the models that carry it as the authority.
using Entry = GgufPreTokenizer;
constexpr std::array kTable = {
    Entry{.name = "gpt-2", .steps = {kGpt2}},
    Entry{.name = "gpt2", .steps = {kGpt2}},
    Entry{.name = "phi-2", .steps = {kGpt2}},
    Entry{.name = "jina-es", .steps = {kGpt2}},
    Entry{.name = "jina-de", .steps = {kGpt2}},
    Entry{.name = "jina-v2-es", .steps = {kGpt2}},
    Entry{.name = "jina-v2-de", .steps = {kGpt2}},
    Entry{.name = "gigachat", .steps = {kGpt2}},
    Entry{.name = "a.x-4.0", .steps = {kGpt2}},
    Entry{.name = "mellum", .steps = {kGpt2}},
    Entry{.name = "modern-bert", .steps = {kGpt2}},
    Entry{.name = "exaone4", .steps = {kGpt2}},
    Entry{.name = "jais", .steps = {kGpt2}},
    Entry{.name = "trillion", .steps = {kGpt2}},
    Entry{.name = "granite-docling", .steps = {kGpt2}},
    Entry{.name = "mpt", .steps = {kGpt2}, .nfc = true},
    Entry{.name = "olmo", .steps = {kGpt2}, .nfc = true},
    Entry{.name = "roberta-bpe", .steps = {kGpt2}, .adds_bos = true, .adds_eos = true},
    Entry{.name = "jina-v1-en", .steps = {kGpt2}, .adds_bos = true, .adds_eos = true},
    Entry{.name = "jina-v2-code", .steps = {kGpt2}, .adds_bos = true, .adds_eos = true},
    Entry{.name = "smollm", .steps = kDigitsThenGpt2},
    Entry{.name = "starcoder", .steps = kDigitsThenGpt2},
    Entry{.name = "refact", .steps = kDigitsThenGpt2},
    Entry{.name = "codeshell", .steps = kDigitsThenGpt2},
    Entry{.name = "exaone", .steps = kDigitsThenGpt2},
    Entry{.name = "minerva-7b", .steps = kDigitsThenGpt2},
    Entry{.name = "mellum2", .steps = kDigitsThenGpt2},
    Entry{.name = "command-r", .steps = kDigitsThenGpt2, .nfc = true},
    Entry{.name = "llama-bpe", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "llama-v3", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "llama3", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "falcon3", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "falcon-h1", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "pixtral", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "midm-2.0", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "lfm2", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "jina-v5-nano", .steps = kLlama3, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "dbrx", .steps = kLlama3},
    Entry{.name = "smaug-bpe", .steps = kLlama3},
    Entry{.name = "glm4", .steps = kLlama3},
    Entry{.name = "chatglm-bpe", .steps = kLlama3},
    Entry{.name = "qwen2", .steps = kQwen2, .nfc = true},
    Entry{.name = "deepseek-r1-qwen", .steps = kQwen2, .nfc = true},
    Entry{.name = "kormo", .steps = kQwen2, .nfc = true},
    Entry{.name = "f2llmv2", .steps = kQwen2, .nfc = true},
    Entry{.name = "megrez", .steps = kQwen2, .nfc = true},
    Entry{.name = "stablelm2", .steps = kQwen2},
    Entry{.name = "hunyuan", .steps = kQwen2},
    Entry{.name = "solar-open", .steps = kQwen2},
    Entry{.name = "grok-2", .steps = kQwen2},
    Entry{.name = "qwen35", .steps = {split(kQwen35Regex)}, .nfc = true},
    Entry{.name = "gpt-4o", .steps = kO200k},
    Entry{.name = "llama4", .steps = kO200k},
    Entry{.name = "kanana2", .steps = kO200k},
    Entry{.name = "talkie", .steps = kO200k},
    Entry{.name = "minimax-m2", .steps = kO200k},
    Entry{.name = "tekken", .steps = {split(kTekkenRegex)}, .ignore_merges = true, .adds_bos = true},
    Entry{.name = "kimi-k2", .steps = {split(kKimi)}},
    Entry{.name = "bloom", .steps = kBloom},
    Entry{.name = "poro-chat", .steps = kBloom},
    Entry{.name = "gpt3-finnish", .steps = kBloom},
    Entry{.name = "viking", .steps = {split(kBloomRegex), kEachDigit}},
    Entry{.name = "deepseek-llm", .steps = {split("[\r\n]"), split(kDeepseekLetters), split(kDeepseekPunctuation), split(R"(\s+$)"), split(kDeepseekCjk), kEachDigit}},
    Entry{.name = "deepseek-coder", .steps = {split("[\r\n]"), split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"), split(kDeepseekCjk), kEachDigit}},
    Entry{.name = "deepseek-v3", .steps = kDeepseekV3},
    Entry{.name = "hunyuan-dense", .steps = kDeepseekV3},
    Entry{.name = "joyai-llm", .steps = kDeepseekV3},
    Entry{.name = "hy_v4", .steps = kDeepseekV3},
    Entry{.name = "falcon", .steps = {kPunctuation, kGpt2, kDigitRuns, split("[0-9][0-9][0-9]")}},
    Entry{.name = "seed-coder", .steps = {split(kSeedCoder)}},
    Entry{.name = "bailingmoe", .steps = kBailingMoe},
    Entry{.name = "bailingmoe2", .steps = kBailingMoe},
    Entry{.name = "llada-moe", .steps = kBailingMoe},
    Entry{.name = "exaone-moe", .steps = {split(kExaoneMoe)}},
    Entry{.name = "jais-2", .steps = {split(kJais2)}},
    Entry{.name = "ufakzeka", .steps = {split(kUfakzeka)}},
    Entry{.name = "youtu", .steps = {split(kYoutuScripts), split(kYoutuWords)}, .ignore_merges = true},
    Entry{.name = "spark2_5", .steps = {split(R"(\p{N}{1,3})"), split(kCjk), split(kSpark), split(R"(\p{N})")}},
    Entry{.name = "tiny_aya", .steps = {split(R"(\d{1,3}(?=(?:\d{3})*\b))"), split(kO200kRegex)}},
    Entry{.name = "cohere2moe", .steps = {split(R"(\d{1,3}(?=(?:\d{3})*\b))"), split(kO200kRegex)}},
    Entry{.name = "laguna", .steps = {split("[^\n]+|[\n]+"), split(kQwen2Regex)}},
    Entry{.name = "superbpe", .steps = {split(R"(\p{N}+)"), split(R"((?=(\d{3})+(?!\d)))")}},
};
// clang-format on

using Json = nlohmann::ordered_json;

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

Json component(const Step& step) {
  switch (step.kind) {
    case Step::kSplit:
      return {{"type", "Split"}, {"pattern", {{"Regex", step.regex}}}, {"behavior", "Isolated"}, {"invert", false}};
    case Step::kEachDigit: return {{"type", "Digits"}, {"individual_digits", true}};
    case Step::kDigitRuns: return {{"type", "Digits"}, {"individual_digits", false}};
    case Step::kPunctuation: return {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
    default: return byte_level(true);
  }
}

}  // namespace

std::string pre_tokenizer_json(const GgufPreTokenizer& entry) {
  Json parts = Json::array();
  bool has_bytes = false;
  for (const Step& step : entry.steps) {
    if (step.kind == Step::kNone) break;
    has_bytes = has_bytes || step.kind == Step::kGpt2;
    parts.push_back(component(step));
  }
  if (!has_bytes) parts.push_back(byte_level(false));
  if (parts.size() == 1) return parts[0].dump();
  return Json{{"type", "Sequence"}, {"pretokenizers", std::move(parts)}}.dump();
}

std::span<const GgufPreTokenizer> gguf_pre_tokenizers() { return kTable; }

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(kTable, name, &GgufPreTokenizer::name);
  return found == kTable.end() ? nullptr : &*found;
}

std::string gguf_pre_tokenizer_names() {
  std::string out;
  for (const GgufPreTokenizer& entry : kTable) out += (out.empty() ? "\"" : ", \"") + std::string(entry.name) + "\"";
  return out;
}

}  // namespace millrace::text
