// What a node meets in the wild: bad meshes, nothing at all, far too much, disks that are full, folders that are shut.
// The host goes on and shows the message.
#include "fake_host.hpp"
#include "test.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include <sys/resource.h>
#include <unistd.h>

using namespace meniscus::node;
namespace fs = std::filesystem;

namespace {

std::size_t resident_kilobytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0, resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

std::size_t threads_now() {
    std::size_t count = 0;
    for (const auto &task : fs::directory_iterator("/proc/self/task")) count += task.exists();
    return count;
}

std::string fresh_folder(const char *name) {
    const std::string path = (fs::temp_directory_path() / (std::string("meniscus_") + name + std::to_string(getpid()))).string();
    fs::remove_all(path);
    fs::create_directories(path);
    return path;
}

TEST(a_point_that_is_not_a_number_is_named_and_the_host_goes_on) {
    FakeHost host;
    host.collider_moves = true;
    host.collider = [](double f) {
        Mesh mesh = swinging(f);
        if (f == 4) mesh.points[7] = std::numeric_limits<float>::quiet_NaN();
        return mesh;
    };
    Node node;
    CHECK(node.cook(host, 3).status == Status::Done);
    const Cooked bad = node.cook(host, 6);
    CHECK(bad.status == Status::Failed);
    CHECK(says(bad, Level::Error, "paddle"));
    CHECK(says(bad, Level::Error, "element 2"));
    CHECK_EQ(bad.frame->frame, 3);
    // The mesh is repaired, and the shot goes on where it was.
    host.collider = swinging;
    CHECK(node.cook(host, 3).status == Status::Done);
    FakeHost sound;
    sound.collider_moves = true;
    sound.collider = swinging;
    Node other;
    CHECK(same(*node.cook(host, 6).frame, *other.cook(sound, 6).frame));
}

TEST(a_still_mesh_with_a_bad_point_or_index_is_refused_with_its_name) {
    FakeHost host;
    host.collider = [](double) {
        Mesh mesh = box(0.2, 0, 0, 0.24, 0.1, 0.2);
        mesh.points[0] = std::numeric_limits<float>::infinity();
        return mesh;
    };
    Node node;
    CHECK(says(node.cook(host, 1), Level::Error, "paddle"));
    host.collider = [](double) {
        Mesh mesh = box(0.2, 0, 0, 0.24, 0.1, 0.2);
        mesh.triangles[3] = 99;
        return mesh;
    };
    CHECK(says(node.cook(host, 1), Level::Error, "uses vertices"));
    host.collider = nullptr;
    CHECK(node.cook(host, 2).status == Status::Done);
}

TEST(empty_inputs_are_a_message) {
    FakeHost host;
    host.source = false;
    Node node;
    const Cooked nothing = node.cook(host, 5);
    CHECK(says(nothing, Level::Error, "Sources: there is nothing to simulate"));
    CHECK(nothing.frame && nothing.frame->points.empty());
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        in.sources.push_back({"dust", Mesh(), {}});
        in.colliders.push_back({"ghost", Mesh(), {}});
        Field empty, strange, broken = field("force", 3, 0.1, [](double, double, double) { return Value(1, 0, 0); });
        empty.name = "vel";
        strange.name = "heat";
        broken.values[5] = std::numeric_limits<float>::quiet_NaN();
        in.fields = {empty, strange, broken};
        return in;
    };
    const Cooked some = node.cook(host, 2);
    CHECK(some.status == Status::Done);
    CHECK(says(some, Level::Warning, "dust: this source has no polygons"));
    CHECK(says(some, Level::Warning, "ghost: this collider has no polygons"));
    CHECK(says(some, Level::Warning, "vel: it must have 3 numbers"));
    CHECK(says(some, Level::Warning, "heat: only volumes called surface"));
    CHECK(says(some, Level::Warning, "force: it holds numbers that are not finite"));
}

TEST(numbers_out_of_range_are_named) {
    FakeHost host;
    host.set("flip_blend", 7);
    Node node;
    CHECK(says(node.cook(host, 1), Level::Error, "simulator.flip_blend"));
    host.set("flip_blend", 0.9);
    host.set("particle_separation", std::numeric_limits<double>::quiet_NaN());
    CHECK(node.cook(host, 1).status == Status::Failed);
    host.set("particle_separation", 0.02);
    CHECK(node.cook(host, std::numeric_limits<double>::infinity()).status == Status::Failed);
    CHECK(node.cook(host, 2).status == Status::Done);
}

TEST(a_density_that_is_animated_is_read_at_the_start_and_said_so) {
    FakeHost host;
    host.animate("density", [](double f) { return Value(1000 + f); });
    Node node;
    CHECK(says(node.cook(host, 1), Level::Warning, "Density: is animated"));
    node.cook(host, 3);
    CHECK_EQ(node.begun(), 1);
}

TEST(names_that_cannot_be_files_and_names_that_come_twice_are_made_to_fit) {
    FakeHost host;
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"obj/pool:1", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        for (int i = 0; i < 3; ++i) in.colliders.push_back({"../piece", box(0.2 + 0.05 * i, 0, 0, 0.23 + 0.05 * i, 0.1, 0.2), {}});
        in.colliders.push_back({"", box(0.2, 0.2, 0, 0.3, 0.25, 0.2), {}});
        return in;
    };
    Node node;
    const Cooked cooked = node.cook(host, 2);
    if (cooked.status != Status::Done) test::fail("cook", 2, told(cooked));
}

TEST(a_hundred_resets_do_not_grow) {
    FakeHost host;
    host.set("particle_separation", 0.04);
    Node node;
    std::size_t early = 0;
    for (int i = 0; i < 100; ++i) {
        node.reset();
        CHECK(node.cook(host, 3).status == Status::Done);
        if (i == 30) early = resident_kilobytes();
    }
    CHECK_EQ(node.begun(), 100);
    CHECK(node.cache().entries() <= 4);
    const std::size_t late = resident_kilobytes();
    // The allocator may keep a little; a leak of one state would be ten times as much.
    if (late > early + 8192) test::fail(__FILE__, __LINE__, std::to_string(early) + " kB became " + std::to_string(late) + " kB");
}

TEST(the_cache_keeps_to_its_limit) {
    FakeHost host;
    host.set("cache_memory", 0.0015);
    Node node;
    for (int f = 1; f <= 12; ++f) CHECK(node.cook(host, f).status == Status::Done);
    CHECK(node.cache().memory() <= 1500000);
    CHECK(node.cook(host, 2).status == Status::Done);
    CHECK_EQ(node.cook(host, 2).frame->frame, 2);
}

TEST(the_node_uses_the_threads_that_the_host_grants) {
    std::size_t most[2] = {0, 0};
    std::shared_ptr<const Frame> frames[2];
    for (unsigned granted : {1u, 2u}) {
        FakeHost host;
        host.granted = granted;
        const std::size_t before = threads_now();
        host.watch = [&](const Progress &) {
            most[granted - 1] = std::max(most[granted - 1], threads_now() - before);
            return true;
        };
        Node node;
        frames[granted - 1] = node.cook(host, 6).frame;
        // One of the pool for each, and the one that waits for the frame while this thread watches.
        CHECK(most[granted - 1] <= granted + 1);
    }
    CHECK(same(*frames[0], *frames[1]));
}

TEST(a_full_disk_is_a_message_and_memory_goes_on) {
    const std::string folder = fresh_folder("full");
    FakeHost host;
    host.set("cache_dir", folder);
    // No file may become larger than 4 kB: a write fails as on a full disk.
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {4096, before.rlim_max};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    Node node;
    const Cooked first = node.cook(host, 2), second = node.cook(host, 3);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(first.status == Status::Done && second.status == Status::Done);
    CHECK(says(first, Level::Warning, "Cache Folder"));
    CHECK(says(first, Level::Warning, "kept in memory only"));
    CHECK(!says(second, Level::Warning, "Cache Folder"));
    // Nothing half written is left.
    for (const auto &entry : fs::recursive_directory_iterator(folder)) CHECK(!entry.is_regular_file());
    // There is room again.
    CHECK(node.cook(host, 4).status == Status::Done);
    bool written = false;
    for (const auto &entry : fs::recursive_directory_iterator(folder)) written = written || entry.path().extension() == ".mnsframe";
    CHECK(written);
    fs::remove_all(folder);
}

TEST(a_cache_folder_without_permission_is_a_message) {
    const std::string folder = fresh_folder("shut");
    fs::permissions(folder, fs::perms::none);
    std::ofstream(folder + ".file") << "not a folder";
    for (const std::string &path : {folder + "/below", folder + ".file/below", std::string("/proc/meniscus")}) {
        FakeHost host;
        host.set("cache_dir", path);
        // Root may do everything; become somebody else for a while.
        const bool root = geteuid() == 0;
        if (root && seteuid(65534) != 0) test::fail(__FILE__, __LINE__, "seteuid");
        Node node;
        const Cooked cooked = node.cook(host, 2);
        if (root && seteuid(0) != 0) test::fail(__FILE__, __LINE__, "seteuid");
        CHECK(cooked.status == Status::Done);
        CHECK(says(cooked, Level::Warning, "Cache Folder"));
    }
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
    fs::remove(folder + ".file");
}

TEST(damaged_files_in_the_cache_are_passed_over) {
    const std::string folder = fresh_folder("damaged");
    FakeHost host;
    host.set("cache_dir", folder);
    host.set("checkpoint_every", 2);
    std::shared_ptr<const Frame> whole;
    {
        Node node;
        whole = node.cook(host, 5).frame;
    }
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
        file.write("damage!", 7);
    }
    Node node;
    const Cooked again = node.cook(host, 5);
    CHECK(again.status == Status::Done);
    CHECK(same(*whole, *again.frame));
    fs::remove_all(folder);
}

TEST(a_frame_survives_being_packed_and_every_short_file_is_refused) {
    FakeHost host;
    host.set("particle_separation", 0.05);
    host.set("output", "both");
    host.animate("viscosity", [](double f) { return Value(f); });
    Node node;
    const auto frame = node.cook(host, 2).frame;
    const Bytes bytes = pack(*frame);
    const auto back = unpack(bytes);
    CHECK(back && same(*frame, *back) && back->particle_attributes == frame->particle_attributes && !id_of(*frame).empty() && back->sampled == frame->sampled);
    CHECK_EQ(back->volume, frame->volume);
    for (std::size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 300)
        CHECK(!unpack(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n))));
}

TEST(json_is_read_back_to_the_bit_and_nonsense_is_refused) {
    Json json;
    json.at("a[1].b") = Json(0.1 + 0.2);
    json.at("text") = Json("line\n\"quoted\" \\ end");
    const Json back = Json::parse(json.dump());
    CHECK_EQ(back.get("a").items()[1].get("b").number(), 0.1 + 0.2);
    CHECK_EQ(back.get("text").text().substr(0, 4), "line");
    for (const char *bad : {"", "{", "[1,", "{\"a\" 1}", "\"x", "nul", "[1] 2", "\"\\"}) {
        bool refused = false;
        try {
            Json::parse(bad);
        } catch (const std::exception &) {
            refused = true;
        }
        if (!refused) test::fail(__FILE__, __LINE__, bad);
    }
}

} // namespace

#ifndef MENISCUS_SANITIZED
namespace {

TEST(ten_million_triangles_are_a_collider) {
    FakeHost host;
    host.set("particle_separation", 0.02);
    const uint32_t n = 2237;
    Mesh ground;
    ground.points.reserve(3 * std::size_t(n) * n);
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t j = 0; j < n; ++j) {
            const double x = 0.4 * i / (n - 1), z = 0.2 * j / (n - 1);
            ground.points.insert(ground.points.end(), {float(x), float(0.03 + 0.02 * std::sin(20 * x)), float(z)});
        }
    for (uint32_t i = 0; i + 1 < n; ++i)
        for (uint32_t j = 0; j + 1 < n; ++j) {
            const uint32_t a = i * n + j;
            ground.triangles.insert(ground.triangles.end(), {a, a + 1, a + n, a + 1, a + n + 1, a + n});
        }
    CHECK(ground.triangles.size() / 3 >= 9990000u);
    host.inputs = [&](double) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0.06, 0, 0.16, 0.2, 0.2), {}});
        in.colliders.push_back({"ground", ground, {}});
        return in;
    };
    Node node;
    const Cooked cooked = node.cook(host, 2);
    if (cooked.status != Status::Done) test::fail(__FILE__, __LINE__, told(cooked));
    CHECK(cooked.frame->volume > 1e-3);
}

} // namespace
#endif
