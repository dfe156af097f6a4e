#include "text/containers/tokenizer_components.h"
#include "text/decoder_cleanup.h"

// {"type": "WordPiece", "prefix": "##", "cleanup": true}: a space before every string but the first, or the prefix
// gone.
namespace millrace::text::decoders {
namespace {

struct Options {
  std::string prefix;
  bool cleanup;
};

std::string decoded(const Options& o, std::string_view token, bool first) {
  std::string out;
  if (first) {
    out = token;
  } else if (token.starts_with(o.prefix)) {
    out = token.substr(o.prefix.size());
  } else {
    out.append(" ").append(token);
  }
  if (o.cleanup) clean_up_spaces(out);
  return out;
}

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}
  void push(std::string_view part, bool begins) override {
    emit(decoded(o_, part, first_), begins);
    first_ = false;
  }

 private:
  const Options& o_;
  bool first_ = true;
};

void read(const JsonNode& node, TokenizerParts& parts) {
  if (parts.decodes_to_one_text()) node["type"].unsupported("WordPiece", "it only before Fuse and ByteLevel");
  Options options{short_text(node["prefix"]), node["cleanup"].boolean_or(true)};
  parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(
      std::move(options), [](const Options& o, std::string& token) { token = decoded(o, token, false); }));
}

}  // namespace

ComponentReader word_piece() { return {"WordPiece", read}; }

}  // namespace millrace::text::decoders
