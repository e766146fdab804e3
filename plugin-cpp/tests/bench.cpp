// What the node costs besides the simulation: copies in and out, and frames from the cache, at a million vertices. Times are
// of the processor, so that a busy machine does not change them; that of a simulated frame is shared out over its threads.
//
//   bench [vertices]      figures; fails if a copy takes more than 3 % of a frame or a kept frame more than 100 ms
#include "fake_host.hpp"

#include <ctime>
#include <filesystem>

#include <unistd.h>

using namespace meniscus::node;

static double now(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// The shortest of a few runs: what the work takes when nobody disturbs it.
template <class F> static double shortest(F work) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        const double begin = now(CLOCK_THREAD_CPUTIME_ID);
        work();
        best = std::min(best, now(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    return best;
}

int main(int argc, char **argv) {
    const std::size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000000;

    // Copies out, as Node::picture does it: doubles to floats in the host's unit, velocities, triangles.
    std::vector<double> points(3 * n, 0.25);
    std::vector<float> velocities(3 * n, 0.5f);
    std::vector<uint32_t> triangles(6 * n, 1);
    auto frame = std::make_shared<Frame>();
    const double out = shortest([&] {
        Frame f;
        f.points.resize(points.size());
        for (std::size_t i = 0; i < points.size(); ++i) f.points[i] = static_cast<float>(points[i] * 1.0);
        f.velocities.resize(velocities.size());
        for (std::size_t i = 0; i < velocities.size(); ++i) f.velocities[i] = velocities[i] * 1.0f;
        f.triangles.assign(triangles.begin(), triangles.end());
        *frame = std::move(f);
    });
    // Into the host's own memory, the copy that nobody can save.
    std::vector<float> host_points(3 * n), host_velocities(3 * n);
    std::vector<uint32_t> host_triangles(6 * n);
    const double shown = shortest([&] {
        std::memcpy(host_points.data(), frame->points.data(), 12 * n);
        std::memcpy(host_velocities.data(), frame->velocities.data(), 12 * n);
        std::memcpy(host_triangles.data(), frame->triangles.data(), 24 * n);
    });
    // Copies in: hashing a still collider of a million vertices to see that nothing changed.
    Mesh collider;
    collider.points.assign(3 * n, 0.5f);
    collider.triangles.assign(6 * n, 1);
    volatile uint64_t keep = 0;
    const double hashed = shortest([&] { keep = hash_mesh(collider); });

    // A kept frame of a million vertices, from memory and from disk.
    const auto folder = std::filesystem::temp_directory_path() / ("meniscus_bench_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::vector<Message> messages;
    frame->frame = 1001;
    Cache cache;
    cache.configure(std::size_t(4) << 30, folder.string(), uint64_t(4) << 30);
    cache.put(7, frame, messages);
    bool found = true;
    const double memory = shortest([&] { found = found && cache.frame(7, 1001, false); });
    const double disk = shortest([&] {
        Cache cold;
        cold.configure(std::size_t(4) << 30, folder.string(), uint64_t(4) << 30);
        found = found && cold.frame(7, 1001, false);
    });
    std::filesystem::remove_all(folder);

    // A frame of a real simulation, scaled to a million surface vertices by its own ratio of time to vertices. Larger
    // frames take more than in proportion, so the share is an upper bound.
    FakeHost host;
    host.set("particle_separation", 0.005);
    Node node;
    node.cook(host, 2);
    const double begin = now(CLOCK_PROCESS_CPUTIME_ID);
    const Cooked cooked = node.cook(host, 4);
    const double a_frame = (now(CLOCK_PROCESS_CPUTIME_ID) - begin) / 2 / host.granted;
    const std::size_t vertices = cooked.frame->points.size() / 3;
    const double at_million = a_frame * double(n) / double(vertices);
    const double share = 100 * (out + shown + hashed) / at_million;

    std::printf("vertices                         %zu\n", n);
    std::printf("copy out of the library          %.1f ms\n", 1e3 * out);
    std::printf("copy into the host               %.1f ms\n", 1e3 * shown);
    std::printf("look at a still input            %.1f ms\n", 1e3 * hashed);
    std::printf("a kept frame from memory         %.3f ms\n", 1e3 * memory);
    std::printf("a kept frame from disk           %.1f ms\n", 1e3 * disk);
    std::printf("a simulated frame                %.2f s with %zu vertices, %.1f s at %zu\n", a_frame, vertices, at_million, n);
    std::printf("copies in and out                %.2f %% of a frame\n", share);
    return found && messages.empty() && cooked.status == Status::Done && share < 3 && memory + shown < 0.1 && disk + shown < 0.1 ? 0 : 1;
}
