#include "text/containers/tokenizer_components.h"
#include "text/replace_all.h"

// {"type": "BPEDecoder", "suffix": "</w>"}: the suffix of a word becomes a space, that of the last string nothing.
namespace millrace::text::decoders {
namespace {

struct Options {
  std::string suffix;
};

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}
  void push(std::string_view part, bool) override {
    flush(" ");
    held_ = part;
    if (part.find(o_.suffix) == part.npos) flush("");
  }
  void finish() override { flush(""); }

 private:
  void flush(std::string_view content) {
    if (held_.empty()) return;
    replace_all(held_, o_.suffix, content);
    emit(held_, true);
    held_.clear();
  }

  const Options& o_;
  std::string held_;  // a string with the suffix, until it is known whether another one follows
};

void read(const JsonNode& node, TokenizerParts& parts) {
  if (parts.decodes_to_one_text()) node["type"].unsupported("BPEDecoder", "it only before Fuse and ByteLevel");
  Options options{short_text(node["suffix"])};
  if (options.suffix.empty()) node["suffix"].wrong("a string that is not empty");
  parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(
      std::move(options), [](const Options& o, std::string& token) { replace_all(token, o.suffix, " "); }));
}

}  // namespace

ComponentReader bpe() { return {"BPEDecoder", read}; }

}  // namespace millrace::text::decoders
