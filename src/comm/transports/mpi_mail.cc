#include "comm/transports/mpi_mail.h"

#include <utility>

#include "comm/communicator.h"

namespace millrace::comm {

int MpiMail::send(int to, std::shared_ptr<const Message> message) {
  Sent& sent = sent_.emplace_back(Sent{{}, std::move(message)});
  under_way_ += sent.message->size();
  return calls_.send(way_, to, sent.message->data(), static_cast<int>(sent.message->size()), &sent.request);
}

int MpiMail::flush() {
  for (auto it = sent_.begin(); it != sent_.end();) {
    int done = 0;
    if (const int error = calls_.test(&it->request, &done)) return error;
    if (done == 0) {
      ++it;
      continue;
    }
    under_way_ -= it->message->size();
    it = sent_.erase(it);
  }
  return 0;
}

int MpiMail::look(int from, std::optional<Message>& message) {
  Incoming& incoming = incoming_[static_cast<std::size_t>(from)];
  if (!incoming.begun) {
    int found = 0, bytes = 0;
    MpiHandle matched;
    if (const int error = calls_.probe(way_, from, &found, &bytes, &matched)) return error;
    if (found == 0) return 0;
    if (bytes < 0 || static_cast<std::size_t>(bytes) > Communicator::kMaxCommand) return kTooLong;
    incoming.message.resize(static_cast<std::size_t>(bytes));
    if (const int error = calls_.receive(&matched, incoming.message.data(), bytes, &incoming.request)) return error;
    incoming.begun = true;
  }
  int done = 0;
  if (const int error = calls_.test(&incoming.request, &done)) return error;
  if (done == 0) return 0;
  incoming.begun = false;
  message = std::exchange(incoming.message, {});
  return 0;
}

}  // namespace millrace::comm
