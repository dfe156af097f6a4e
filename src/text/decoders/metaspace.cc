#include "text/containers/tokenizer_components.h"
#include "text/replace_all.h"

// {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}: the symbol is a space again, and nothing
// in the first string when one was put there.
namespace millrace::text::decoders {
namespace {

struct Options {
  std::string symbol;
  bool drops_first;
};

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}
  void push(std::string_view part, bool begins) override {
    if (begins) ++strings_;
    std::string text(part);
    replace_all(text, o_.symbol, strings_ == 1 && o_.drops_first ? "" : " ");
    emit(text, begins);
  }

 private:
  const Options& o_;
  std::size_t strings_ = 0;
};

void read(const JsonNode& node, TokenizerParts& parts) {
  if (parts.decodes_to_one_text()) node["type"].unsupported("Metaspace", "it only before Fuse and ByteLevel");
  Options options{short_text(node["replacement"]), metaspace_scheme(node) != "never"};
  if (options.symbol.empty()) node["replacement"].wrong("one character");
  parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(
      std::move(options), [](const Options& o, std::string& token) { replace_all(token, o.symbol, " "); }));
}

}  // namespace

ComponentReader metaspace() { return {"Metaspace", read}; }

}  // namespace millrace::text::decoders
