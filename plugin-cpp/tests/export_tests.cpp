// The exported scene: the command line gives the same mesh to the last bit.
#include "fake_host.hpp"
#include "test.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

using namespace meniscus::node;
namespace fs = std::filesystem;

namespace {

/// The floats and triangles of a binary PLY as the command writes it: position, velocity and what the liquid carries, then
/// triangles.
struct Ply {
    std::vector<float> points, velocities, carried;
    std::vector<uint32_t> triangles;
};

Ply read_ply(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::size_t head = bytes.find("end_header\n") + 11;
    auto count = [&](const char *word) { return std::strtoul(bytes.c_str() + bytes.find(word) + std::strlen(word), nullptr, 10); };
    const std::size_t n = count("element vertex "), m = count("element face ");
    std::size_t width = 0;
    for (std::size_t p = bytes.find("property float "); p < head; p = bytes.find("property float ", p + 1)) ++width;
    CHECK_EQ(bytes.size(), head + 4 * width * n + 13 * m);
    Ply ply;
    const char *at = bytes.data() + head;
    std::vector<float> row(width);
    for (std::size_t i = 0; i < n; ++i, at += 4 * width) {
        std::memcpy(row.data(), at, 4 * width);
        ply.points.insert(ply.points.end(), row.begin(), row.begin() + 3);
        ply.velocities.insert(ply.velocities.end(), row.begin() + 3, row.begin() + 6);
        ply.carried.insert(ply.carried.end(), row.begin() + 6, row.end());
    }
    for (std::size_t i = 0; i < m; ++i, at += 13) {
        uint32_t row[3];
        std::memcpy(row, at + 1, 12);
        ply.triangles.insert(ply.triangles.end(), row, row + 3);
    }
    return ply;
}

/// Export a host's shot, run it by the command line, and hold every frame against the node's.
void compare(FakeHost &host, const char *name, int first, int last) {
    const char *command = std::getenv("MENISCUS");
    if (!command) test::fail(__FILE__, __LINE__, "set MENISCUS to the command");
    const fs::path folder = fs::temp_directory_path() / (std::string("meniscus_export_") + name + std::to_string(getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder);
    host.set("end_frame", last);
    Node node, other;
    std::vector<Message> messages;
    if (!other.export_scene(host, (folder / "shot.json").string(), messages)) test::fail(__FILE__, __LINE__, messages.back().text);
    const std::string run = std::string(command) + " run " + (folder / "shot.json").string() + " -o " + (folder / "out").string() +
                            " --progress none > " + (folder / "log").string() + " 2>&1";
    if (std::system(run.c_str()) != 0) {
        std::ifstream log(folder / "log");
        test::fail(__FILE__, __LINE__, std::string((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>()));
    }
    for (int f = first; f <= last; ++f) {
        const Cooked cooked = node.cook(host, f);
        if (cooked.status != Status::Done) test::fail(__FILE__, __LINE__, told(cooked));
        char file[32];
        std::snprintf(file, sizeof file, "%04d.ply", f);
        const Ply ply = read_ply(folder / "out" / "surface" / file);
        std::vector<float> carried;
        for (std::size_t i = 0; i < cooked.frame->points.size() / 3; ++i)
            for (const Attribute &a : cooked.frame->attributes) {
                const std::size_t width = static_cast<std::size_t>(a.width);
                carried.insert(carried.end(), a.floats.begin() + long(i * width), a.floats.begin() + long((i + 1) * width));
            }
        if (ply.points != cooked.frame->points || ply.triangles != cooked.frame->triangles || ply.carried != carried)
            test::fail(__FILE__, __LINE__, "frame " + std::to_string(f) + " differs");
    }
    fs::remove_all(folder);
}

TEST(a_still_shot_from_the_command_line_is_the_same_to_the_last_bit) {
    FakeHost host;
    host.collider = [](double) { return box(0.2, 0, 0.05, 0.26, 0.1, 0.15); };
    host.set("viscosity", 0.01);
    compare(host, "still", 1, 5);
}

TEST(an_animated_shot_from_the_command_line_is_the_same_to_the_last_bit) {
    FakeHost host;
    host.set("start_frame", 1001);
    host.set("collider_samples", 2);
    host.collider_moves = true;
    host.inputs = [](double f) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        in.colliders.push_back({"paddle", swinging(f), {}});
        // One that deforms, with a friction of its own that changes, and one that vanishes.
        Object soft{"soft", box(0.3, 0, 0, 0.36, 0.05 + 0.01 * (f - 1001), 0.2), {}};
        soft.own["friction"] = Value(0.1 * (f - 1001));
        in.colliders.push_back(soft);
        if (f < 1004) in.colliders.push_back({"gate", box(0.17, 0, 0, 0.19, 0.1, 0.2), {}});
        return in;
    };
    host.animate("viscosity", [](double f) { return Value(0.01 * (f - 1000)); });
    host.animate("gravity", [](double f) { return Value(std::sin(0.4 * f), -9.81, 0); });
    host.animate("time_scale", [](double f) { return Value(1 + 0.2 * std::sin(f)); });
    host.rate = {24000, 1001};
    compare(host, "animated", 1001, 1008);
}

TEST(a_pour_from_the_command_line_is_the_same_to_the_last_bit) {
    FakeHost host;
    host.source_moves = true;
    host.inputs = [](double f) {
        Inputs in;
        Object tap{"tap", box(0.16 + 0.005 * f, 0.2, 0.06, 0.24 + 0.005 * f, 0.28, 0.14), {}};
        tap.own["source_mode"] = Value("emit");
        tap.own["source_velocity"] = Value(0, -1 - 0.1 * f, 0);
        in.sources.push_back(tap);
        return in;
    };
    compare(host, "pour", 1, 6);
}

TEST(a_shot_with_fields_from_the_command_line_is_the_same_to_the_last_bit) {
    FakeHost host;
    host.fields_move = true;
    host.set("collider_samples", 2);
    host.set("viscosity", 0.1);
    host.inputs = [](double f) {
        Inputs in;
        in.fields.push_back(field("surface", 1, 0.02, [](double x, double y, double z) {
            return Value(std::sqrt((x - 0.2) * (x - 0.2) + (y - 0.12) * (y - 0.12) + (z - 0.1) * (z - 0.1)) - 0.08);
        }));
        in.fields.push_back(field("vel", 3, 0.05, [](double, double y, double) { return Value(y, 0.2, 0); }));
        in.fields.push_back(field("viscosity", 1, 0.05, [](double x, double, double) { return Value(x < 0.2 ? 0.01 : 2); }));
        in.fields.push_back(field("force", 3, 0.1, [f](double x, double, double) { return Value(f * (1 - x), std::sin(f), 0); }));
        return in;
    };
    compare(host, "fields", 1, 6);
}

TEST(a_painted_shot_from_the_command_line_is_the_same_to_the_last_bit) {
    FakeHost host;
    host.source_moves = host.collider_moves = true;
    host.set("collider_samples", 2);
    host.set("viscosity", 0.1);
    host.inputs = [](double f) {
        Inputs in;
        Mesh pool = painted(box(0, 0, 0, 0.14, 0.1, 0.2), "viscosity", [](double x, double, double) { return x < 0.1 ? 20.0 : -1.0; });
        pool.attributes.push_back({"Cd", 3, std::vector<float>(24, 0.25f), {}});
        in.sources.push_back({"pool", pool, {}});
        Mesh tap = painted(box(0.2, 0.2, 0.06, 0.28, 0.28, 0.14), "viscosity", [f](double, double, double) { return 0.3 * f; });
        in.sources.push_back({"tap", tap, {{"source_mode", Value("emit")}, {"source_velocity", Value(0, -1, 0)}}});
        Mesh slope = painted(turned(box(0.1, 0, -0.1, 0.5, 0.04, 0.3), 0.3, 0, 0.1 + 0.01 * f), "friction", [f](double x, double, double) { return x < 0.3 ? 0.1 * f : 0; });
        in.colliders.push_back({"slope", slope, {{"wall", Value("slide")}}});
        return in;
    };
    compare(host, "painted", 1, 6);
}

TEST(forces_wind_bodies_and_a_container_from_the_command_line_are_the_same_to_the_last_bit) {
    FakeHost host;
    host.forces_move = true;
    host.animate("wind", [](double f) { return Value(0.5 * f, 0, 0); });
    host.set("wind_drag", 2.0);
    host.inputs = [](double f) {
        Inputs in;
        in.has_container = true;
        const double high[3] = {0.36, 0.3, 0.2};
        std::copy(high, high + 3, in.container_max);
        in.sources.push_back({"pool", box(0, 0, 0, 0.36, 0.1, 0.2), {}});
        Object thick{"thick", box(0, 0.1, 0, 0.1, 0.2, 0.2), {}};
        thick.own["source_viscosity"] = Value(5);
        in.sources.push_back(thick);
        Object drain{"drain", box(0.3, 0, 0, 0.36, 0.06, 0.2), {}};
        drain.own["source_mode"] = Value("drain");
        in.sources.push_back(drain);
        in.colliders.push_back({"post", box(0.26, 0, 0.14, 0.3, 0.2, 0.18), {}});
        Object cork{"cork", box(0.12, 0.12, 0.04, 0.2, 0.2, 0.12), {}};
        cork.own["body_density"] = Value(400);
        cork.own["body_spin"] = Value(0, 90, 20);
        in.bodies.push_back(cork);
        Force pull, push;
        pull.center[0] = 0.1 + 0.01 * f;
        pull.strength = 3 + f;
        push.kind = "uniform";
        push.axis[0] = 0.5 * f;
        push.axis[1] = 0;
        in.forces = {pull, push};
        return in;
    };
    compare(host, "everything", 1, 5);
}

TEST(tetrahedra_from_the_command_line_are_the_same_to_the_last_bit) {
    FakeHost host;
    host.set("simulator", "bcc");
    host.set("detail", 2);
    compare(host, "tetrahedra", 1, 2);
}

TEST(an_export_that_cannot_be_written_is_a_message) {
    FakeHost host;
    Node node;
    std::vector<Message> messages;
    CHECK(!node.export_scene(host, "", messages));
    CHECK(!node.export_scene(host, "/proc/meniscus/shot.json", messages));
    CHECK(messages.back().level == Level::Error);
    host.watch = [](const Progress &) { return false; };
    CHECK(!node.export_scene(host, (fs::temp_directory_path() / "meniscus_never.json").string(), messages));
    CHECK(messages.back().text.find("stopped") == 0);
}

TEST(every_default_of_the_table_makes_a_scene_that_is_accepted) {
    FakeHost host;
    host.values.clear();
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"pool", box(-0.3, 0, -0.3, 0.1, 0.4, 0.3), {}});
        Object tap{"tap", box(0.1, 0.7, -0.1, 0.3, 0.9, 0.1), {}};
        tap.own["source_mode"] = Value("emit");
        in.sources.push_back(tap);
        in.colliders.push_back({"rock", box(0.2, 0, 0.2, 0.4, 0.1, 0.4), {}});
        return in;
    };
    std::vector<Message> messages;
    for (bool blender : {false, true}) {
        struct Shows : FakeHost {
            bool blender = false;
            bool shows(const Row &row) const override { return blender ? row.for_blender : row.for_houdini; }
        } shown;
        shown.values.clear();
        shown.inputs = host.inputs;
        shown.blender = blender;
        const Shot shot(shown, shown.wires(), messages);
        const std::string text = shot.scene(shown, Recording(), 48).dump();
        meniscus::estimate(text);
        CHECK(text.find(blender ? "divisions" : "cell") != std::string::npos);
    }
    CHECK(messages.empty());
}

} // namespace
