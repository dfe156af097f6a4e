// Answers questions about tokenizers: one JSON object a line on stdin, one a line on stdout. Driven by comparison.py.
//   {"op": "load" (a tokenizer.json), "load_model", "load_tiktoken" or "load_gguf" (a JSON dump of the vocabulary),
//    "file": path, "config": path of a tokenizer_config.json or ""}
//   {"op": "open", "path": of a model, a directory or .gguf}: its tokenizer, as every command opens it
//   {"op": "encode", "texts": [...], "add_special": bool, "trusted": bool}      -> {"ids": [[...]...], "seconds"}
//   {"op": "encode_spans", "texts": [...], ...}                 -> the same and {"spans": [[[begin, end]...]...]},
//   bytes
//   {"op": "encode_bytes", "texts": [[byte...]...], ...}          -> the same, for text that is not UTF-8
//   {"op": "encode_pieces", "pieces": [[text, trusted]...], "add_special": bool} -> {"ids": [...]}
//   {"op": "decode", "ids": [[...]...], "skip_special": bool}  -> {"texts": [...], "streamed": [bool...]}: streaming
//   gave the same,
//                                                                 and only whole characters
//   {"op": "gguf_pre"}                                         -> {"names": [{"name", "pre_tokenizer", ...}...]}
//   {"op": "facts"}                                            -> what the tokenizer says about itself
// Every failure is {"error": message, "param": field}.
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "text/containers/gguf_pre_tokenizers.h"
#include "text/detokenizer.h"
#include "unicode/code_points.h"

namespace {

using millrace::text::Detokenizer;
using millrace::text::GgufVocabulary;
using millrace::text::TextPiece;
using millrace::text::TokenId;
using millrace::text::Tokenizer;
using Json = nlohmann::json;
using LoadResult = millrace::Result<std::shared_ptr<const Tokenizer>>;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
void read_optional(const Json& dump, const char* key, std::optional<T>& out) {
  if (dump.contains(key) && !dump[key].is_null()) out = dump[key].get<T>();
}

GgufVocabulary gguf_vocabulary(const Json& dump) {
  GgufVocabulary v;
  v.model = dump.value("model", "");
  v.pre = dump.value("pre", "");
  v.tokens = dump.value("tokens", v.tokens);
  v.scores = dump.value("scores", v.scores);
  v.token_types = dump.value("token_types", v.token_types);
  v.merges = dump.value("merges", v.merges);
  read_optional(dump, "bos", v.bos);
  read_optional(dump, "eos", v.eos);
  read_optional(dump, "eot", v.eot);
  read_optional(dump, "unk", v.unk);
  read_optional(dump, "pad", v.pad);
  read_optional(dump, "add_bos", v.add_bos);
  read_optional(dump, "add_eos", v.add_eos);
  read_optional(dump, "sep", v.sep);
  read_optional(dump, "add_sep", v.add_sep);
  read_optional(dump, "add_space_prefix", v.add_space_prefix);
  read_optional(dump, "remove_extra_whitespaces", v.remove_extra_whitespaces);
  read_optional(dump, "lowercase", v.lowercase);
  const auto charsmap = dump.value("precompiled_charsmap", std::vector<int>());
  v.precompiled_charsmap.assign(charsmap.begin(), charsmap.end());
  return v;
}

class Oracle {
 public:
  Json answer(const Json& request) {
    const std::string op = request.at("op");
    if (op == "open") return open(request.at("path"));
    if (op.starts_with("load")) return load(op, contents(request.at("file")), request.value("config", ""));
    if (op == "gguf_pre") return gguf_pre();
    if (!tokenizer_) return {{"error", "no tokenizer is loaded"}};
    if (op == "encode" || op == "encode_bytes") return encode(request, op == "encode_bytes");
    if (op == "encode_spans") return encode_spans(request);
    if (op == "encode_pieces") return encode_pieces(request);
    if (op == "decode") return decode(request);
    if (op == "facts") return facts();
    return {{"error", "unknown op " + op}};
  }

 private:
  static LoadResult load_file(const std::string& op, const std::string& file, const std::string& config) {
    if (op == "load") return millrace::text::load_tokenizer_json(file, config);
    if (op == "load_model") return millrace::text::load_sentencepiece_model(file, config);
    if (op == "load_tiktoken") return millrace::text::load_tiktoken(file, config);
    if (op == "load_gguf") return millrace::text::load_gguf_tokenizer(gguf_vocabulary(Json::parse(file)));
    throw std::invalid_argument("unknown op " + op);
  }

  Json open(const std::string& path) {
    const auto checkpoint = millrace::checkpoint::open_checkpoint(millrace::Env::system(), path);
    if (!checkpoint) return {{"error", checkpoint.error().message}, {"param", checkpoint.error().param}};
    tokenizer_ = (*checkpoint)->tokenizer;
    return {{"kind", tokenizer_ ? tokenizer_->kind() : ""}};
  }

  Json load(const std::string& op, const std::string& file, const std::string& config) {
    const LoadResult result = load_file(op, file, config.empty() ? "" : contents(config));
    if (!result) return {{"error", result.error().message}, {"param", result.error().param}};
    tokenizer_ = *result;
    return {{"kind", tokenizer_->kind()}};
  }

  Json encode(const Json& request, bool bytes) {
    Json all = Json::array();
    std::chrono::duration<double> took{};
    for (const Json& text : request.at("texts")) {
      std::string input;
      if (bytes) {
        for (const int byte : text) input.push_back(static_cast<char>(byte));
      } else {
        input = text.get<std::string>();
      }
      const auto start = std::chrono::steady_clock::now();
      std::vector<TokenId> ids =
          tokenizer_->encode(input, request.value("add_special", false), request.value("trusted", true));
      took += std::chrono::steady_clock::now() - start;
      all.push_back(std::move(ids));
    }
    return {{"ids", std::move(all)}, {"seconds", took.count()}};
  }

  static Json gguf_pre() {
    Json names = Json::array();
    for (const auto& pre : millrace::text::gguf_pre_tokenizers()) {
      Json entry = {{"name", pre.name}, {"ignore_merges", pre.ignore_merges}, {"normalizer", nullptr}};
      entry["pre_tokenizer"] = Json::parse(pre_tokenizer_json(pre));
      if (pre.nfc) entry["normalizer"] = {{"type", "NFC"}};
      names.push_back(std::move(entry));
    }
    return {{"names", std::move(names)}};
  }

  Json encode_spans(const Json& request) {
    Json ids = Json::array(), spans = Json::array();
    for (const Json& text : request.at("texts")) {
      const TextPiece piece{text.get<std::string>(), request.value("trusted", true)};
      auto encoding = tokenizer_->encode_with_spans(std::span(&piece, 1), request.value("add_special", false));
      Json places = Json::array();
      for (const auto& span : encoding.spans) places.push_back({span.begin, span.end});
      ids.push_back(std::move(encoding.ids));
      spans.push_back(std::move(places));
    }
    return {{"ids", std::move(ids)}, {"spans", std::move(spans)}};
  }

  Json encode_pieces(const Json& request) {
    std::vector<TextPiece> pieces;
    for (const Json& piece : request.at("pieces")) pieces.push_back({piece.at(0), piece.at(1)});
    return {{"ids", tokenizer_->encode(pieces, request.value("add_special", false))}};
  }

  Json decode(const Json& request) {
    Json texts = Json::array(), streamed = Json::array();
    const bool skip_special = request.value("skip_special", false);
    for (const Json& entry : request.at("ids")) {
      const auto ids = entry.get<std::vector<TokenId>>();
      std::string text = tokenizer_->decode(ids, skip_special);
      Detokenizer stream(tokenizer_, skip_special);
      std::string joined;
      bool whole = true;
      for (const TokenId id : ids) {
        const std::string part = stream.push(id);
        whole = whole && millrace::unicode::is_valid_utf8(part);
        joined += part;
      }
      joined += stream.finish();
      streamed.push_back(whole && joined == text);
      texts.push_back(std::move(text));
    }
    return {{"texts", std::move(texts)}, {"streamed", std::move(streamed)}};
  }

  Json facts() const {
    Json out = {
        {"vocab_size", tokenizer_->vocab_size()}, {"adds_bos", tokenizer_->adds_bos()}, {"kind", tokenizer_->kind()}};
    out["bos"] = tokenizer_->bos() ? Json(*tokenizer_->bos()) : Json();
    out["eos"] = tokenizer_->eos() ? Json(*tokenizer_->eos()) : Json();
    const auto ends = tokenizer_->end_of_generation();
    out["end_of_generation"] = std::vector<TokenId>(ends.begin(), ends.end());
    return out;
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Oracle oracle;
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      answer = oracle.answer(Json::parse(line));
    } catch (const std::exception& e) {
      answer = {{"error", e.what()}};
    }
    std::cout << answer.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
  }
}
