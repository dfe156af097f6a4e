#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::text {

class DecodeStream;

// One decoder of a Sequence: from a list of strings (tokens at first) to another, as it arrives. Hugging Face's
// decoders see whole lists; every one of ours gives the same strings piece by piece, holding back only what a later
// token may still change. A string may come in parts: `begins` marks its first. One per stream; not thread-safe.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void push(std::string_view part, bool begins) = 0;
  virtual void finish() {}  // no more strings

 protected:
  void emit(std::string_view part, bool begins);

 private:
  friend class DecodeStream;
  DecodeStage* next_ = nullptr;
  std::string* out_ = nullptr;  // of the last stage
};

// A decoder as loaded: makes stages. Immutable and thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::unique_ptr<DecodeStage> stage() const = 0;
  // What a token becomes inside a text, regardless of its neighbours: the bytes that this decoder makes of `token`.
  virtual void token_bytes(std::string& token) const = 0;
  // Whether the strings that come out are one text, not a list.
  virtual bool joins() const noexcept { return false; }
};
using DecoderList = std::vector<std::unique_ptr<const Decoder>>;

// A Decoder from a Stage class that is built from `Options`, and a function for single tokens.
template <typename Stage, typename Options>
class DecoderOf final : public Decoder {
 public:
  // `of_token` may be null: nothing changes then.
  DecoderOf(Options options, void (*of_token)(const Options&, std::string&), bool joins_strings = false)
      : options_(std::move(options)), token_bytes_(of_token), joins_(joins_strings) {}
  std::unique_ptr<DecodeStage> stage() const override { return std::make_unique<Stage>(options_); }
  void token_bytes(std::string& token) const override {
    if (token_bytes_ != nullptr) token_bytes_(options_, token);
  }
  bool joins() const noexcept override { return joins_; }

 private:
  Options options_;
  void (*token_bytes_)(const Options&, std::string&);
  bool joins_;
};

// A chain of stages over one stream of tokens.
class DecodeStream {
 public:
  // Without any decoder a space stands between tokens, as Hugging Face has it.
  explicit DecodeStream(const DecoderList& decoders);

  void push(std::string_view token);  // a token as the vocabulary spells it
  void finish();
  std::string take() { return std::exchange(*out_, {}); }  // what became text since the last call

 private:
  std::vector<std::unique_ptr<DecodeStage>> stages_;
  std::unique_ptr<std::string> out_ = std::make_unique<std::string>();  // stays where it is when the stream moves
  bool joined_with_spaces_, first_ = true;
};

}  // namespace millrace::text
