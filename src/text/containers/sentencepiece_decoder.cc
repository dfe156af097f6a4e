#include "text/containers/sentencepiece_decoder.h"

#include "text/byte_fallback.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

struct Options {
  std::string unk_piece, unk_surface;
  bool strips_first;  // one U+2581 in front of the text
  bool strips_all;    // one in front of every piece, until there is text
  bool has_bytes;
};

int byte_of(const Options& o, std::string_view piece) { return o.has_bytes ? byte_of_fallback_token(piece) : -1; }

std::string with_spaces(std::string_view piece) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = piece.find(kSpaceSymbol); at != piece.npos; at = piece.find(kSpaceSymbol, from)) {
    out.append(piece.substr(from, at - from)).push_back(' ');
    from = at + kSpaceSymbol.size();
  }
  return out.append(piece.substr(from));
}

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options& options) : o_(options) {}

  void push(std::string_view piece, bool) override {
    if (const int byte = byte_of(o_, piece); byte >= 0) {
      bytes_.push_back(static_cast<char>(byte));
      send_characters(false);
      return;
    }
    send_characters(true);
    if (piece == o_.unk_piece) return send(o_.unk_surface);
    const bool at_front = !has_text_ && !stripped_;
    if (at_front && o_.strips_first && piece.starts_with(kSpaceSymbol)) {
      piece.remove_prefix(kSpaceSymbol.size());
      stripped_ = !o_.strips_all;
    }
    send(with_spaces(piece));
  }
  void finish() override { send_characters(true); }

 private:
  // What the bytes say, a byte that begins no character U+FFFD. `complete`: no more bytes follow.
  void send_characters(bool complete) {
    std::string_view rest = bytes_;
    while (!rest.empty()) {
      const unicode::Utf8Unit unit = unicode::next_utf8_unit(rest);
      if (unit.kind == unicode::Utf8Unit::Kind::kIncomplete && !complete) break;
      const bool character = unit.kind == unicode::Utf8Unit::Kind::kCharacter;
      send(character ? rest.substr(0, unit.size) : unicode::kReplacementCharacter);
      rest.remove_prefix(character ? unit.size : 1);
    }
    bytes_.erase(0, bytes_.size() - rest.size());
  }
  void send(std::string_view text) {
    if (text.empty()) return;
    emit(text, !has_text_);
    has_text_ = true;
  }

  const Options& o_;
  std::string bytes_;      // of a character that is not whole yet
  bool has_text_ = false;  // something was sent
  bool stripped_ = false;  // the U+2581 in front is gone
};

void token_bytes(const Options& o, std::string& token) {
  if (const int byte = byte_of(o, token); byte >= 0) {
    token.assign(1, static_cast<char>(byte));
  } else {
    token = token == o.unk_piece ? o.unk_surface : with_spaces(token);
  }
}

}  // namespace

std::unique_ptr<const Decoder> make_sentencepiece_decoder(const SentencePieceModel& model) {
  Options options;
  if (model.unk) options.unk_piece = model.pieces[static_cast<std::size_t>(*model.unk)].text;
  options.unk_surface = model.unk_surface;
  options.strips_first = model.add_dummy_prefix || model.remove_extra_whitespaces;
  options.strips_all = model.remove_extra_whitespaces;
  options.has_bytes = model.byte_fallback;
  return std::make_unique<DecoderOf<Stage, Options>>(std::move(options), token_bytes, true);
}

}  // namespace millrace::text
