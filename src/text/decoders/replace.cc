#include "text/containers/tokenizer_components.h"
#include "text/replace_all.h"

// {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, within each string.
namespace millrace::text::decoders {
namespace {

struct Options {
  std::string pattern, content;
};

// How long an end of `text` begins `pattern` without being all of it.
std::size_t open_match(std::string_view text, std::string_view pattern) {
  for (std::size_t size = std::min(text.size(), pattern.size() - 1); size > 0; --size) {
    if (pattern.starts_with(text.substr(text.size() - size))) return size;
  }
  return 0;
}

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}

  void push(std::string_view part, bool begins) override {
    if (begins) {
      finish();
      begins_ = true;
    }
    open_.append(part);
    std::string done;
    std::size_t from = 0;
    for (std::size_t at = open_.find(o_.pattern); at != open_.npos; at = open_.find(o_.pattern, from)) {
      done.append(open_, from, at - from).append(o_.content);
      from = at + o_.pattern.size();
    }
    open_.erase(0, from);
    const std::size_t keep = open_match(open_, o_.pattern);
    done.append(open_, 0, open_.size() - keep);
    open_.erase(0, open_.size() - keep);
    if (!done.empty()) send(done);
  }
  void finish() override {
    if (!open_.empty()) send(open_);
    open_.clear();
  }

 private:
  void send(std::string_view text) {
    emit(text, begins_);
    begins_ = false;
  }

  const Options& o_;
  std::string open_;  // what may be the beginning of the pattern
  bool begins_ = true;
};

void read(const JsonNode& node, TokenizerParts& parts) {
  Options options{literal_pattern(node), short_text(node["content"])};
  parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(
      std::move(options), [](const Options& o, std::string& token) { replace_all(token, o.pattern, o.content); }));
}

}  // namespace

ComponentReader replace() { return {"Replace", read}; }

}  // namespace millrace::text::decoders
