#include "text/decoder.h"

namespace millrace::text {

void DecodeStage::emit(std::string_view part, bool begins) {
  if (next_ != nullptr) {
    next_->push(part, begins);
  } else {
    out_->append(part);
  }
}

DecodeStream::DecodeStream(const DecoderList& decoders) : joined_with_spaces_(decoders.empty()) {
  for (const auto& decoder : decoders) stages_.push_back(decoder->stage());
  for (std::size_t i = 0; i + 1 < stages_.size(); ++i) stages_[i]->next_ = stages_[i + 1].get();
  if (!stages_.empty()) stages_.back()->out_ = out_.get();
}

void DecodeStream::push(std::string_view token) {
  if (joined_with_spaces_) {
    if (!first_) out_->push_back(' ');
    first_ = false;
    out_->append(token);
    return;
  }
  stages_.front()->push(token, true);
}

void DecodeStream::finish() {
  for (const auto& stage : stages_) stage->finish();
}

}  // namespace millrace::text
