#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/adapters/adapter.h"

namespace millrace::model {

// The adapters of one model that are in memory, those with a name by name. Requests keep the one that they found: a
// replaced or removed adapter lives until the last of them has ended, while new requests get the new one. All threads.
class LoraSet {
 public:
  struct Entry {
    std::string name, path;
    std::shared_ptr<const Adapter> adapter;
  };

  // Null: there is none of that name.
  std::shared_ptr<const Adapter> find(const std::string& name) const;
  // Any that lives, named or not, by its key. Null: there is none.
  std::shared_ptr<const Adapter> of_key(const std::string& key) const;
  // Any that lives, by its id.
  const Adapter* of_id(std::uint64_t id) const;
  // By name, sorted.
  std::vector<Entry> list() const;

  // Adds it without a name.
  void add(const std::shared_ptr<const Adapter>& adapter);
  // Adds it if it is new, and gives it the name, in place of another one of that name.
  void put(const std::string& name, const std::string& path, std::shared_ptr<const Adapter> adapter);
  bool remove(const std::string& name);  // false: there is none of that name

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Entry> named_;
  std::unordered_map<std::uint64_t, std::weak_ptr<const Adapter>> living_;  // some have ended
};

}  // namespace millrace::model
