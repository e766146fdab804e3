#include "cache.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <system_error>

namespace fs = std::filesystem;

namespace meniscus::node {

uint64_t hash_bytes(const void *data, std::size_t size, uint64_t seed) {
    const unsigned char *p = static_cast<const unsigned char *>(data);
    uint64_t h = seed ^ (0x9E3779B97F4A7C15u + size);
    auto mix = [&h](uint64_t word) {
        h = (h ^ word) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
    };
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        mix(word);
    }
    uint64_t word = 0;
    if (size) std::memcpy(&word, p, size);
    mix(word);
    return h;
}

uint64_t hash_field(const Field &field, uint64_t seed) {
    seed = hash_bytes(field.name.data(), field.name.size(), seed ^ uint64_t(field.width));
    seed = hash_bytes(field.counts.data(), sizeof field.counts, seed);
    seed = hash_bytes(field.origin.data(), sizeof field.origin, seed);
    seed = hash_bytes(field.steps.data(), sizeof field.steps, seed);
    return hash_bytes(field.values.data(), 4 * field.values.size(), seed);
}

uint64_t hash_mesh(const Mesh &mesh, uint64_t seed) {
    seed = hash_bytes(mesh.points.data(), 4 * mesh.points.size(), seed);
    seed = hash_bytes(mesh.triangles.data(), 4 * mesh.triangles.size(), seed);
    seed = hash_bytes(mesh.velocities.data(), 4 * mesh.velocities.size(), seed);
    for (const Attribute &a : mesh.attributes) {
        seed = hash_bytes(a.name.data(), a.name.size(), seed + std::uint64_t(a.width));
        seed = hash_bytes(a.floats.data(), 4 * a.floats.size(), seed);
    }
    return seed;
}

namespace {

const char magic[8] = {'M', 'N', 'S', 'F', 'R', 'A', 'M', '3'};

/// Hands out plain values and arrays with their lengths, one after another; nothing is copied on the way.
class Packer {
public:
    explicit Packer(const Put &put) : put_(put) {}
    void raw(const void *data, std::size_t size) {
        put_(data, size);
        sum = hash_bytes(data, size, sum);
    }
    template <class T> void one(const T &value) { raw(&value, sizeof value); }
    template <class T> void all(const std::vector<T> &values) {
        one<uint64_t>(values.size());
        raw(values.data(), values.size() * sizeof(T));
    }
    void text(const std::string &t) {
        one<uint64_t>(t.size());
        raw(t.data(), t.size());
    }
    /// Of the pieces, one after another.
    uint64_t sum = 0;

private:
    const Put &put_;
};

/// Reads them back, straight to where they belong; everything is held against what is left.
class Unpacker {
public:
    /// `source` gives the next bytes, of which there are `left`.
    Unpacker(std::function<bool(void *, std::size_t)> source, std::size_t left) : source_(std::move(source)), left_(left) {}
    void raw(void *to, std::size_t size) {
        if (size > left_ || (size && !source_(to, size))) throw std::runtime_error("the file ends too early");
        left_ -= size;
        sum = hash_bytes(to, size, sum);
    }
    template <class T> void one(T &value) { raw(&value, sizeof value); }
    template <class T> void all(std::vector<T> &values) {
        values.resize(count(sizeof(T)));
        raw(values.data(), values.size() * sizeof(T));
    }
    std::string text() {
        std::string t(count(1), ' ');
        raw(&t[0], t.size());
        return t;
    }
    uint64_t count(std::size_t size) {
        uint64_t n = 0;
        one(n);
        if (n > left_ / size) throw std::runtime_error("the file ends too early");
        return n;
    }
    uint64_t sum = 0;

private:
    std::function<bool(void *, std::size_t)> source_;
    std::size_t left_;
};

template <class F, class Archive> void numbers(F &f, Archive &&one) {
    one(f.frame);
    one(f.has_particles);
    one(f.has_volumes);
    for (auto &x : f.volumes.origin) one(x);
    one(f.volumes.cell);
    one(f.pscale);
    one(f.volume);
    one(f.volume_expected);
    one(f.max_speed);
    one(f.seconds);
    one(f.residual);
    one(f.substeps);
    one(f.iterations);
    one(f.memory_bytes);
}

template <class F, class Archive> void arrays(F &f, Archive &&all) {
    all(f.points);
    all(f.velocities);
    all(f.triangles);
    all(f.particle_points);
    all(f.particle_velocities);
    all(f.volumes.cells);
    all(f.volumes.velocity);
}

} // namespace

void pack(const Frame &frame, const Put &put) {
    Packer out(put);
    out.raw(magic, sizeof magic);
    numbers(frame, [&](const auto &v) { out.one(v); });
    arrays(frame, [&](const auto &v) { out.all(v); });
    for (const auto *list : {&frame.attributes, &frame.particle_attributes}) {
        out.one<uint64_t>(list->size());
        for (const Attribute &a : *list) {
            out.text(a.name);
            out.one(a.width);
            out.all(a.floats);
            out.all(a.integers);
        }
    }
    out.one<uint64_t>(frame.bodies.size());
    for (const BodyPose &body : frame.bodies) {
        out.text(body.name);
        out.raw(body.pose, sizeof body.pose);
    }
    for (const auto *texts : {&frame.warnings, &frame.sampled}) {
        out.one<uint64_t>(texts->size());
        for (const std::string &t : *texts) out.text(t);
    }
    const uint64_t sum = out.sum;
    out.one(sum);
}

Bytes pack(const Frame &frame) {
    Bytes bytes;
    bytes.reserve(frame.bytes() + 4096);
    pack(frame, [&](const void *data, std::size_t size) {
        const uint8_t *p = static_cast<const uint8_t *>(data);
        bytes.insert(bytes.end(), p, p + size);
    });
    return bytes;
}

static std::shared_ptr<const Frame> unpack(Unpacker in) {
    try {
        char begin[sizeof magic];
        in.one(begin);
        if (std::memcmp(begin, magic, sizeof magic) != 0) return nullptr;
        auto frame = std::make_shared<Frame>();
        numbers(*frame, [&](auto &v) { in.one(v); });
        arrays(*frame, [&](auto &v) { in.all(v); });
        for (auto *list : {&frame->attributes, &frame->particle_attributes}) {
            list->resize(in.count(1));
            for (Attribute &a : *list) {
                a.name = in.text();
                in.one(a.width);
                in.all(a.floats);
                in.all(a.integers);
            }
        }
        frame->bodies.resize(in.count(1));
        for (BodyPose &body : frame->bodies) {
            body.name = in.text();
            in.one(body.pose);
        }
        for (auto *texts : {&frame->warnings, &frame->sampled}) {
            texts->resize(in.count(1));
            for (std::string &t : *texts) t = in.text();
        }
        const uint64_t expected = in.sum;
        uint64_t sum = 0;
        in.one(sum);
        return sum == expected ? frame : nullptr;
    } catch (const std::exception &) {
        return nullptr;
    }
}

std::shared_ptr<const Frame> unpack(const Bytes &bytes) {
    std::size_t at = 0;
    return unpack(Unpacker(
        [&](void *to, std::size_t size) {
            std::memcpy(to, bytes.data() + at, size);
            at += size;
            return true;
        },
        bytes.size()));
}

std::shared_ptr<const Frame> read_frame(const std::string &path) {
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) return nullptr;
    std::error_code error;
    const auto size = fs::file_size(path, error);
    auto frame = error ? nullptr : unpack(Unpacker([&](void *to, std::size_t n) { return std::fread(to, 1, n, file) == n; }, size));
    std::fclose(file);
    return frame;
}

void write_file(const std::string &path, const std::function<void(const Put &)> &content) {
    const std::string under = path + ".part";
    auto fail = [&](int why) {
        std::error_code ignored;
        fs::remove(under, ignored);
        throw std::runtime_error(path + " cannot be written: " + std::strerror(why));
    };
    errno = 0;
    std::FILE *file = std::fopen(under.c_str(), "wb");
    if (!file) fail(errno);
    bool wrote = true;
    content([&](const void *data, std::size_t size) { wrote = wrote && (size == 0 || std::fwrite(data, 1, size, file) == size); });
    wrote = wrote && std::fflush(file) == 0;
    const int why = errno;
    if (std::fclose(file) != 0 || !wrote) fail(wrote ? errno : why);
    std::error_code error;
    fs::rename(under, path, error);
    if (error) fail(error.value());
}

void write_file(const std::string &path, const void *data, std::size_t size) {
    write_file(path, [&](const Put &put) { put(data, size); });
}

std::optional<Bytes> read_file(const std::string &path) {
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) return std::nullopt;
    std::error_code error;
    const auto size = fs::file_size(path, error);
    Bytes bytes(error ? 0 : static_cast<std::size_t>(size));
    const bool whole = std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size();
    std::fclose(file);
    if (error || !whole) return std::nullopt;
    return bytes;
}

void Cache::configure(std::size_t memory, const std::string &folder, uint64_t disk) {
    if (folder != folder_) complained_ = false;
    limit_ = memory;
    folder_ = folder;
    disk_limit_ = disk;
    trim();
}

Cache::Place Cache::find(uint64_t shot, int64_t frame, bool state) {
    for (auto i = entries_.begin(); i != entries_.end(); ++i)
        if (i->shot == shot && i->frame == frame && (i->state != nullptr) == state) {
            entries_.splice(entries_.begin(), entries_, i);
            return entries_.begin();
        }
    return entries_.end();
}

void Cache::keep(Entry entry) {
    const Place old = find(entry.shot, entry.frame, entry.state != nullptr);
    if (old != entries_.end()) {
        used_ -= old->bytes;
        entries_.erase(old);
    }
    used_ += entry.bytes;
    entries_.push_front(std::move(entry));
    trim();
}

void Cache::trim() {
    // The newest stays whatever its size: it is being shown.
    while (used_ > limit_ && entries_.size() > 1) {
        used_ -= entries_.back().bytes;
        entries_.pop_back();
    }
}

void Cache::put(uint64_t shot, std::shared_ptr<const Frame> frame, std::vector<Message> &messages) {
    if (!folder_.empty()) write(shot, frame->frame, false, frame->bytes(), [&](const Put &put) { pack(*frame, put); }, messages);
    const std::size_t bytes = frame->bytes();
    const int64_t number = frame->frame;
    keep({shot, number, std::move(frame), nullptr, bytes});
}

void Cache::put_state(uint64_t shot, int64_t frame, Bytes state, std::vector<Message> &messages) {
    if (!folder_.empty()) write(shot, frame, true, state.size(), [&](const Put &put) { put(state.data(), state.size()); }, messages);
    const std::size_t bytes = state.size();
    // A state that would push everything else out is not worth it.
    if (bytes > limit_ / 2) return;
    keep({shot, frame, nullptr, std::make_shared<const Bytes>(std::move(state)), bytes});
}

std::shared_ptr<const Frame> Cache::frame(uint64_t shot, int64_t number, Besides besides) {
    auto serves = [&](const Frame &f) { return (f.has_particles || !besides.particles) && (f.has_volumes || !besides.volumes); };
    const Place found = find(shot, number, false);
    if (found != entries_.end() && serves(*found->picture)) return found->picture;
    if (folder_.empty()) return nullptr;
    const auto frame = read_frame(path(shot, number, false));
    if (!frame || frame->frame != number || !serves(*frame)) return nullptr;
    keep({shot, number, frame, nullptr, frame->bytes()});
    return frame;
}

std::optional<int64_t> Cache::nearest_state(uint64_t shot, int64_t frame) {
    std::optional<int64_t> best;
    auto consider = [&](int64_t f) {
        if (f <= frame && (!best || f > *best)) best = f;
    };
    for (const Entry &e : entries_)
        if (e.shot == shot && e.state) consider(e.frame);
    for (int64_t f : on_disk(shot, true)) consider(f);
    return best;
}

std::shared_ptr<const Bytes> Cache::state(uint64_t shot, int64_t frame) {
    const Place found = find(shot, frame, true);
    if (found != entries_.end()) return found->state;
    auto bytes = folder_.empty() ? std::nullopt : read_file(path(shot, frame, true));
    return bytes ? std::make_shared<const Bytes>(std::move(*bytes)) : nullptr;
}

std::shared_ptr<const Frame> Cache::nearest_frame(uint64_t shot, int64_t number) {
    std::shared_ptr<const Frame> best;
    for (const Entry &e : entries_)
        if (e.shot == shot && e.picture && e.frame <= number && (!best || e.frame > best->frame)) best = e.picture;
    return best;
}

void Cache::forget(uint64_t shot) {
    for (auto i = entries_.begin(); i != entries_.end();) {
        if (i->shot != shot) {
            ++i;
            continue;
        }
        used_ -= i->bytes;
        i = entries_.erase(i);
    }
    std::error_code ignored;
    for (bool state : {false, true})
        for (int64_t f : on_disk(shot, state)) fs::remove(path(shot, f, state), ignored);
}

std::string Cache::path(uint64_t shot, int64_t frame, bool state) const {
    char name[96];
    std::snprintf(name, sizeof name, "/%016llx/%s.%04lld.%s", static_cast<unsigned long long>(shot), state ? "state" : "frame",
                  static_cast<long long>(frame), state ? "mnsstate" : "mnsframe");
    return folder_ + name;
}

std::vector<int64_t> Cache::on_disk(uint64_t shot, bool state) const {
    std::vector<int64_t> frames;
    if (folder_.empty()) return frames;
    std::error_code error;
    fs::directory_iterator all(fs::path(path(shot, 0, state)).parent_path(), error), end;
    for (; !error && all != end; all.increment(error)) {
        const std::string name = all->path().filename().string();
        const std::string ending = state ? ".mnsstate" : ".mnsframe";
        const bool ours = name.size() > 6 + ending.size() && name.compare(0, 6, state ? "state." : "frame.") == 0 &&
                          name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
        if (ours) frames.push_back(std::strtoll(name.c_str() + 6, nullptr, 10));
    }
    return frames;
}

void Cache::write(uint64_t shot, int64_t frame, bool state, std::size_t size, const std::function<void(const Put &)> &content,
                  std::vector<Message> &messages) {
    try {
        const std::string file = path(shot, frame, state);
        std::error_code error;
        fs::create_directories(fs::path(file).parent_path(), error);
        if (error) throw std::runtime_error(folder_ + " cannot be used: " + error.message());
        trim_disk(size);
        write_file(file, content);
        complained_ = false;
    } catch (const std::exception &e) {
        // Said once, not for every frame.
        if (!complained_)
            messages.push_back({Level::Warning, "Cache Folder", std::string(e.what()) + "; frames are kept in memory only"});
        complained_ = true;
    }
}

void Cache::trim_disk(uint64_t need) {
    struct Old {
        fs::file_time_type time;
        uint64_t size;
        fs::path path;
    };
    std::vector<Old> files;
    uint64_t total = need;
    std::error_code error;
    fs::recursive_directory_iterator all(folder_, error), end;
    for (; !error && all != end; all.increment(error)) {
        const std::string ending = all->path().extension().string();
        // Only files of ours are counted and removed.
        if (ending != ".mnsframe" && ending != ".mnsstate") continue;
        std::error_code gone;
        const uint64_t size = all->file_size(gone);
        const auto time = all->last_write_time(gone);
        if (gone) continue;
        files.push_back({time, size, all->path()});
        total += size;
    }
    if (total <= disk_limit_) return;
    std::sort(files.begin(), files.end(), [](const Old &a, const Old &b) { return a.time < b.time; });
    for (const Old &old : files) {
        if (total <= disk_limit_) break;
        if (fs::remove(old.path, error)) total -= old.size;
    }
}

} // namespace meniscus::node
