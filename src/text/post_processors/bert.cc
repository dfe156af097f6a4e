#include "text/bert_frame.h"

// {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
namespace millrace::text::post_processors {

ComponentReader bert() { return {"BertProcessing", read_bert_frame}; }

}  // namespace millrace::text::post_processors
