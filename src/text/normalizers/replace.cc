#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "Replace", "pattern": {"String": " "} or {"Regex": " {2,}"}, "content": "\u2581"}
namespace millrace::text::normalizers {
namespace {

class Replace final : public Normalizer {
 public:
  // Of `literal`, or of what `regex` finds.
  Replace(std::string literal, std::unique_ptr<const WordSplitter> regex, std::string content)
      : literal_(std::move(literal)), regex_(std::move(regex)), content_(std::move(content)) {}

  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    const std::vector<Word> matches = find(bytes);
    if (matches.empty()) return;
    MarkedText out;
    out.reserve(bytes.size());
    std::size_t done = 0;
    for (const Word& match : matches) {
      if (done < match.begin) out.append(text, done, match.begin);
      // It comes from where the match ends.
      if (!content_.empty()) out.append(content_, text, unicode::previous_start(bytes, match.end), match.end);
      done = match.end;
    }
    if (done < bytes.size()) out.append(text, done, bytes.size());
    text = std::move(out);
  }

 private:
  std::vector<Word> find(std::string_view bytes) const {
    std::vector<Word> matches;
    if (regex_) {
      if (!bytes.empty()) regex_->split(bytes, {0, bytes.size()}, matches);
      return matches;
    }
    for (std::size_t at = bytes.find(literal_); at != bytes.npos; at = bytes.find(literal_, matches.back().end)) {
      matches.push_back({at, at + literal_.size()});
    }
    return matches;
  }

  std::string literal_;
  std::unique_ptr<const WordSplitter> regex_;
  std::string content_;
};

void read_replace(const JsonNode& node, TokenizerParts& parts) {
  const JsonNode regex = node["pattern"]["Regex"];
  std::unique_ptr<const WordSplitter> splitter;
  if (!regex.is_null()) {
    std::string why;
    splitter = make_regex_splitter(regex.string(), SplitBehavior::kRemoved, true, why);  // leaves the matches alone
    if (!splitter) regex.reject(ErrorCode::kUnsupported, why);
  }
  parts.normalizers.push_back(std::make_unique<Replace>(splitter ? "" : literal_pattern(node), std::move(splitter),
                                                        short_text(node["content"])));
}

}  // namespace

ComponentReader replace() { return {"Replace", read_replace}; }

}  // namespace millrace::text::normalizers
