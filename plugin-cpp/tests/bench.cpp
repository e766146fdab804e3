// What the node costs besides the simulation: copies in and out, and frames from the cache, at a million vertices. Times are
// those on the wall less what this thread waited for a processor that others had, the shortest of a few runs. The time of a
// simulated frame is that of the processor, shared out over its threads, which is the least that it takes. Details are those
// of the stubs, which are slower than Houdini's own: one polygon is one object there.
//
//   bench [vertices]      figures; fails if copies take more than 3 % of a frame or a kept frame more than 100 ms
#include "../houdini/geometry.h"
#include "fake_host.hpp"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <GEO/GEO_PolyCounts.h>
#include <GU/GU_PrimPoly.h>
#include <unistd.h>

using namespace meniscus::node;

/// Seconds on the wall without those in which this thread could have run and did not.
static double now() {
    double ran = 0, waited = 0;
    std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count() - 1e-9 * waited;
}

static double processor() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// The shortest of a few runs: what the work takes when nobody disturbs it.
template <class F> static double shortest(F work) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        const double begin = now();
        work();
        best = std::min(best, now() - begin);
    }
    return best;
}

/// A wavy sheet of about n points and twice as many triangles.
static Frame sheet(std::size_t n) {
    const std::size_t side = static_cast<std::size_t>(std::ceil(std::sqrt(double(n))));
    Frame frame;
    for (std::size_t i = 0; i < side * side; ++i) {
        const float x = float(i % side) / float(side), z = float(i / side) / float(side);
        frame.points.insert(frame.points.end(), {x, 0.1f * std::sin(20 * x), z});
        frame.velocities.insert(frame.velocities.end(), {0, x, 0});
    }
    for (std::size_t r = 0; r + 1 < side; ++r)
        for (std::size_t c = 0; c + 1 < side; ++c) {
            const uint32_t a = uint32_t(r * side + c), b = a + 1, d = a + uint32_t(side), e = d + 1;
            frame.triangles.insert(frame.triangles.end(), {a, b, d, b, e, d});
        }
    return frame;
}

int main(int argc, char **argv) {
    const std::size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000000;
    auto frame = std::make_shared<Frame>(sheet(n));
    const std::size_t vertices = frame->points.size() / 3;

    // Into the host's own detail, as the plug-in does it.
    GU_Detail shown_in;
    double shown = 1e9;
    for (int i = 0; i < 3; ++i) {
        shown_in.clearAndDestroy();
        const double begin = now();
        append_surface(shown_in, *frame, 0, true);
        shown = std::min(shown, now() - begin);
    }
    // In: read the same detail as a collider, and hash it to see whether it changed.
    uint64_t hash = 0;
    std::size_t read_points = 0;
    const double read = shortest([&] {
        const std::vector<Object> pieces = read_pieces(shown_in, "collider", Of::Collider);
        hash = hash_mesh(pieces.at(0).mesh);
        read_points = pieces[0].mesh.points.size() / 3;
    });
    shown_in.clearAndDestroy();

    // A kept frame of a million vertices, from memory and from disk.
    const auto folder = std::filesystem::temp_directory_path() / ("meniscus_bench_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::vector<Message> messages;
    frame->frame = 1001;
    Cache cache;
    cache.configure(std::size_t(4) << 30, folder.string(), uint64_t(4) << 30);
    cache.put(7, frame, messages);
    bool found = true;
    const double memory = shortest([&] { found = found && cache.frame(7, 1001, {}); });
    const double disk = shortest([&] {
        Cache cold;
        cold.configure(std::size_t(4) << 30, folder.string(), uint64_t(4) << 30);
        found = found && cold.frame(7, 1001, {});
    });
    std::filesystem::remove_all(folder);

    // Frames of a real simulation, scaled to a million surface vertices by their own ratio of time to vertices. Larger
    // frames take more than in proportion, so the share is an upper bound.
    FakeHost host;
    host.set("particle_separation", 0.005);
    Node node;
    node.cook(host, 2);
    double a_frame = 1e9, copied = 1e9;
    std::size_t simulated = 1;
    bool done = true;
    for (int f = 3; f <= 6; ++f) {
        const double begin = processor();
        const Cooked cooked = node.cook(host, f);
        a_frame = std::min(a_frame, (processor() - begin) / host.granted);
        copied = std::min(copied, node.copied_in());
        simulated = cooked.frame->points.size() / 3;
        done = done && cooked.status == Status::Done;
    }
    const double scale = double(vertices) / double(simulated), at_million = a_frame * scale, out = copied * scale;
    const double share = 100 * (out + shown + read) / at_million;

    std::printf("vertices                         %zu\n", vertices);
    std::printf("copy out of the library          %.1f ms, from %.2f ms at %zu\n", 1e3 * out, 1e3 * copied, simulated);
    std::printf("copy into the host's detail      %.1f ms\n", 1e3 * shown);
    std::printf("read and hash an input           %.1f ms, %zu points\n", 1e3 * read, read_points);
    std::printf("a kept frame from memory         %.3f ms\n", 1e3 * memory);
    std::printf("a kept frame from disk           %.1f ms\n", 1e3 * disk);
    std::printf("a simulated frame                %.2f s with %zu vertices, %.1f s at %zu\n", a_frame, simulated, at_million, vertices);
    std::printf("copies in and out                %.2f %% of a frame\n", share);
    const bool quick = share < 3 && memory < 0.1 && disk < 0.1;
    return found && done && messages.empty() && hash != 0 && read_points == vertices && quick ? 0 : 1;
}
