#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::text {

class DecodeStream;

// One decoder of a Sequence. It converts a list of strings (at first tokens) to another, as it arrives. Hugging Face's
// decoders process whole lists; these give the same strings piece by piece, and hold back only what a later token may
// change. A string may arrive in parts; `begins` marks its first part. One per stream; one thread.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void push(std::string_view part, bool begins) = 0;
  virtual void finish() {}  // no more strings follow

 protected:
  void emit(std::string_view part, bool begins);

 private:
  friend class DecodeStream;
  DecodeStage* next_ = nullptr;
  std::string* out_ = nullptr;  // of the last stage
};

// A decoder as loaded, which makes stages. Immutable and thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::unique_ptr<DecodeStage> stage() const = 0;
  // Replaces `token` by the bytes that it becomes within text, regardless of the tokens around it.
  virtual void token_bytes(std::string& token) const = 0;
  // Whether the resulting strings are one text rather than a list.
  virtual bool joins() const noexcept { return false; }
};
using DecoderList = std::vector<std::unique_ptr<const Decoder>>;

// A Decoder made of a Stage class, which is constructed from `Options`, and of a function for single tokens.
template <typename Stage, typename Options>
class DecoderOf final : public Decoder {
 public:
  // `of_token` may be null: single tokens are then unchanged.
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

// A chain of stages for one stream of tokens. One thread.
class DecodeStream {
 public:
  // Without any decoder, spaces separate tokens, as in Hugging Face.
  explicit DecodeStream(const DecoderList& decoders);

  void push(std::string_view token);  // the token's text in the vocabulary
  void finish();
  std::string take() { return std::exchange(*out_, {}); }  // returns the text decoded since the last call

 private:
  std::vector<std::unique_ptr<DecodeStage>> stages_;
  std::unique_ptr<std::string> out_ = std::make_unique<std::string>();  // stays where it is when the stream moves
  bool joined_with_spaces_, first_ = true;
};

}  // namespace millrace::text
