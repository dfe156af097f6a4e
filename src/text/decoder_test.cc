#include "text/decoder.h"

#include <gtest/gtest.h>

#include "text/containers/tokenizer_components.h"

namespace millrace::text {
namespace {

using Strings = std::vector<std::string>;

// What each push and the end handed out.
Strings streamed(std::string_view json, const Strings& tokens) {
  TokenizerParts parts;
  read_own_decoder(json, parts);
  DecodeStream stream(parts.decoders);
  Strings out;
  for (const std::string& token : tokens) {
    stream.push(token);
    out.push_back(stream.take());
  }
  stream.finish();
  out.push_back(stream.take());
  return out;
}

TEST(DecodeStream, HoldsOnlyWhatALaterTokenMayStillChange) {
  EXPECT_EQ(streamed(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a", "b</w>", "c</w>"}),
            (Strings{"a", "", "b ", "c"}));
  EXPECT_EQ(streamed(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
                        {"type": "Replace", "pattern": {"String": "aab"}, "content": "x"}]})",
                     {"a", "a", "a", "b", "a"}),
            (Strings{"", "", "a", "x", "", "a"}));
}

TEST(DecodeStream, GoesOnWhereItWasMovedTo) {
  TokenizerParts parts;
  read_own_decoder(R"({"type": "ByteLevel"})", parts);
  auto first = std::make_unique<DecodeStream>(parts.decoders);
  first->push("a");
  DecodeStream second = std::move(*first);
  first.reset();
  second.push("b");
  EXPECT_EQ(second.take(), "ab");
}

TEST(DecodeStream, StripsBothEndsOfEachString) {
  constexpr std::string_view kStrip = R"({"type": "Strip", "content": " ", "start": 1, "stop": 1})";
  EXPECT_EQ(streamed(kStrip, {"  a  ", " ", "b"}), (Strings{" a ", "", "b", ""}));
  EXPECT_EQ(streamed(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
                        {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})",
                     {" ", " a ", " ", "b "}),
            (Strings{"", " a", " ", " b", ""}));
}

TEST(DecodeStream, PutsSpacesBetweenWordPiecesAndTokensWithoutDecoder) {
  EXPECT_EQ(streamed(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})", {"play", "##ing", ".", "do"}),
            (Strings{"play", "ing", ".", " do", ""}));
  EXPECT_EQ(streamed("null", {"a", "b"}), (Strings{"a", " b", ""}));
}

TEST(DecodeStream, CountsRepeatedStringsOnceInSpeech) {
  EXPECT_EQ(streamed(R"({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true})",
                     {"h", "h", "<pad>", "h", "|", "i"}),
            (Strings{"h", "", "", "h", " ", "i", ""}));
}

}  // namespace
}  // namespace millrace::text
