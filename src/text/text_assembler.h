#pragma once

#include <string>
#include <string_view>

namespace millrace::text {

// Joins the bytes of tokens into whole UTF-8, piece by piece; what Hugging Face's decoders give for the whole sequence.
class TextAssembler {
 public:
  explicit TextAssembler(bool strip_leading_space) : strip_(strip_leading_space) {}

  // The text that became complete with these bytes. `byte_fallback`: the token stands for one byte that fell out of a
  // character vocabulary. A run of such tokens is text only if all of it is UTF-8, else one U+FFFD a byte; so it is
  // held until it ends.
  std::string push(std::string_view bytes, bool byte_fallback);
  std::string finish();

 private:
  void flush_run();
  std::string take();

  bool strip_;
  std::string ready_;    // whole UTF-8 not handed out yet; empty between calls
  std::string pending_;  // the beginning of a character
  std::string run_;      // bytes of fallback tokens
};

}  // namespace millrace::text
