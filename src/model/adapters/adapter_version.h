#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "model/adapters/adapter.h"

namespace millrace::chat {
class ChatFormat;  // chat/chat_format.h
}  // namespace millrace::chat

namespace millrace::model {

// What is in an adapter's files.
struct AdapterContent {
  std::shared_ptr<const Adapter> adapter;
  std::shared_ptr<const chat::ChatFormat> chat = {};  // of conversations with it; null: the model's
};

// What a name stood for at some time: files, and their content once they were read. Loading others under the name makes
// another version. Its content may leave memory and is then read again from the same files, which must be the same.
// The name and the path are constant; all else belongs to the AdapterStore and is guarded by its mutex.
struct AdapterVersion {
  AdapterVersion(std::string adapter_name, std::string directory)
      : name(std::move(adapter_name)), path(std::move(directory)) {}

  const std::string name, path;  // path: the directory of its files
  std::int64_t generation = 0;   // how often the name has got a version, this one included; 0: none yet
  bool named = false;            // the name stands for it
  bool pinned = false;           // its content stays in memory as long as it is named
  std::string key;               // of its content; empty: it was never read
  AdapterSummary summary;
  std::size_t bytes = 0;                         // of its content in memory; 0: unknown
  std::shared_ptr<const chat::ChatFormat> chat;  // as it was first read, and stays; null: the model's
  std::shared_ptr<const Adapter> adapter;        // null: not in memory
  std::int64_t uses = 0;                         // by requests
  std::uint64_t last_use = 0;                    // rises from use to use
};
using AdapterRef = std::shared_ptr<AdapterVersion>;

}  // namespace millrace::model
