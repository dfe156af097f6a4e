#include "model/adapters/lora_set.h"

namespace millrace::model {

std::shared_ptr<const Adapter> LoraSet::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : found->second.adapter;
}

std::shared_ptr<const Adapter> LoraSet::of_key(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, weak] : living_) {
    if (auto adapter = weak.lock(); adapter != nullptr && adapter->key() == key) return adapter;
  }
  return nullptr;
}

const Adapter* LoraSet::of_id(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = living_.find(id);
  return found == living_.end() ? nullptr : found->second.lock().get();
}

std::vector<LoraSet::Entry> LoraSet::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> all;
  for (const auto& [name, entry] : named_) all.push_back(entry);
  return all;
}

void LoraSet::add(const std::shared_ptr<const Adapter>& adapter) {
  const std::lock_guard lock(mutex_);
  std::erase_if(living_, [](const auto& one) { return one.second.expired(); });
  living_.emplace(adapter->id(), adapter);
}

void LoraSet::put(const std::string& name, const std::string& path, std::shared_ptr<const Adapter> adapter) {
  add(adapter);
  const std::lock_guard lock(mutex_);
  named_.insert_or_assign(name, Entry{name, path, std::move(adapter)});
}

bool LoraSet::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return named_.erase(name) > 0;
}

}  // namespace millrace::model
