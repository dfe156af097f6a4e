#include "text/containers/tokenizer_components.h"
#include "text/decoder_cleanup.h"
#include "text/replace_all.h"

// {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true}: speech models; repeated strings
// count once.
namespace millrace::text::decoders {
namespace {

struct Options {
  std::string pad, delimiter;
  bool cleanup;
};

void token_bytes(const Options& o, std::string& token) {
  replace_all(token, o.pad, "");
  if (!o.cleanup) return;
  clean_up_spaces(token);
  replace_all(token, o.delimiter, " ");
}

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}
  void push(std::string_view part, bool) override {
    if (last_ == part && !first_) return;
    first_ = false;
    last_ = part;
    std::string text(part);
    token_bytes(o_, text);
    if (!text.empty()) emit(text, true);
  }

 private:
  const Options& o_;
  std::string last_;
  bool first_ = true;
};

void read(const JsonNode& node, TokenizerParts& parts) {
  if (parts.decodes_to_one_text()) node["type"].unsupported("CTC", "it only before Fuse and ByteLevel");
  Options options{short_text(node["pad_token"]), short_text(node["word_delimiter_token"]),
                  node["cleanup"].boolean_or(true)};
  parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(std::move(options), token_bytes));
}

}  // namespace

ComponentReader ctc() { return {"CTC", read}; }

}  // namespace millrace::text::decoders
