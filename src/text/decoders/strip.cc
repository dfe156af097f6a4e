#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "Strip", "content": " ", "start": 1, "stop": 0}: up to so many `content` characters less at the ends of each
// string.
namespace millrace::text::decoders {
namespace {

constexpr std::int64_t kMaxCount = 1024;

struct Options {
  std::string content;  // one character
  std::int64_t start, stop;
};

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}

  void push(std::string_view part, bool begins) override {
    if (begins) {
      held_ = 0;  // the end of the string before
      left_ = o_.start;
      begins_ = true;
    }
    while (left_ > 0 && part.starts_with(o_.content)) {
      part.remove_prefix(o_.content.size());
      --left_;
    }
    if (part.empty()) return;
    left_ = 0;
    std::int64_t tail = 0;
    std::string_view body = part;
    while (tail < o_.stop && body.ends_with(o_.content)) {
      body.remove_suffix(o_.content.size());
      ++tail;
    }
    if (body.empty()) return hold(tail);
    release(held_);
    held_ = tail;
    send(body);
  }

 private:
  // `more` characters at the end, after those held already: the first of them cannot be stripped any more.
  void hold(std::int64_t more) {
    const std::int64_t too_many = std::max<std::int64_t>(held_ + more - o_.stop, 0);
    release(too_many);
    held_ = held_ + more - too_many;
  }
  void release(std::int64_t count) {
    for (; count > 0; --count) send(o_.content);
  }
  void send(std::string_view text) {
    emit(text, begins_);
    begins_ = false;
  }

  const Options& o_;
  std::int64_t left_ = 0;  // characters at the start that may still be stripped
  std::int64_t held_ = 0;  // characters at the end that are stripped if nothing follows
  bool begins_ = true;
};

void read(const JsonNode& node, TokenizerParts& parts) {
  Options options{short_text(node["content"]), node["start"].integer(), node["stop"].integer()};
  if (options.content.empty() || unicode::code_point_at(options.content, 0).size != options.content.size()) {
    node["content"].wrong("one character");
  }
  for (const char* end : {"start", "stop"}) {
    if (node[end].integer() < 0 || node[end].integer() > kMaxCount) node[end].wrong("a number from 0 to 1024");
  }
  parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(std::move(options), nullptr));
}

}  // namespace

ComponentReader strip() { return {"Strip", read}; }

}  // namespace millrace::text::decoders
