// Frames and states that are kept, in memory up to a limit and, if there is a folder, on disk up to another. What was used
// longest ago goes first. Entries belong to a shot, by its key: a change that is undone finds the old frames again.
//
// On disk: FOLDER/KEY/frame.1001.mnsframe and FOLDER/KEY/state.1001.mnsstate, written under another name and renamed, so
// that a file is whole or not there. A file that cannot be written is a message, never a failure: memory goes on alone.
#ifndef MENISCUS_NODE_CACHE_HPP
#define MENISCUS_NODE_CACHE_HPP

#include "host.hpp"

#include <functional>
#include <list>
#include <optional>

namespace meniscus::node {

using Bytes = std::vector<uint8_t>;
/// Takes the next bytes of a file.
using Put = std::function<void(const void *, std::size_t)>;

class Cache {
public:
    /// Limits in bytes; an empty folder for memory only.
    void configure(std::size_t memory, const std::string &folder, uint64_t disk);

    void put(uint64_t shot, std::shared_ptr<const Frame> frame, std::vector<Message> &messages);
    std::shared_ptr<const Frame> frame(uint64_t shot, int64_t frame, Besides besides);
    void put_state(uint64_t shot, int64_t frame, Bytes state, std::vector<Message> &messages);
    /// The last frame up to `frame` whose state is kept.
    std::optional<int64_t> nearest_state(uint64_t shot, int64_t frame);
    std::shared_ptr<const Bytes> state(uint64_t shot, int64_t frame);
    /// The last whole frame up to `frame`.
    std::shared_ptr<const Frame> nearest_frame(uint64_t shot, int64_t frame);
    /// Forget everything of a shot, on disk too.
    void forget(uint64_t shot);

    std::size_t memory() const { return used_; }
    std::size_t entries() const { return entries_.size(); }

private:
    struct Entry {
        uint64_t shot;
        int64_t frame;
        std::shared_ptr<const Frame> picture;
        std::shared_ptr<const Bytes> state;
        std::size_t bytes;
    };
    using Place = std::list<Entry>::iterator;

    Place find(uint64_t shot, int64_t frame, bool state);
    void keep(Entry entry);
    void trim();
    std::string path(uint64_t shot, int64_t frame, bool state) const;
    std::vector<int64_t> on_disk(uint64_t shot, bool state) const;
    void write(uint64_t shot, int64_t frame, bool state, std::size_t size, const std::function<void(const Put &)> &content,
               std::vector<Message> &messages);
    void trim_disk(uint64_t need);

    std::size_t limit_ = std::size_t(2) << 30, used_ = 0;
    std::string folder_;
    uint64_t disk_limit_ = uint64_t(50) << 30;
    bool complained_ = false;
    /// Most recently used first.
    std::list<Entry> entries_;
};

/// A frame as the bytes of a file, array by array without a copy of it, or all at once; and back, nothing if the bytes
/// are damaged.
void pack(const Frame &frame, const Put &put);
Bytes pack(const Frame &frame);
std::shared_ptr<const Frame> unpack(const Bytes &bytes);
/// A frame from its file, read straight into its arrays.
std::shared_ptr<const Frame> read_frame(const std::string &path);
/// Write a file under another name and rename it. Throws std::runtime_error that names the file and the reason.
void write_file(const std::string &path, const std::function<void(const Put &)> &content);
void write_file(const std::string &path, const void *data, std::size_t size);
std::optional<Bytes> read_file(const std::string &path);

} // namespace meniscus::node

#endif
