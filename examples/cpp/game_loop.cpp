// A game moves a paddle and the water follows: every frame a mesh goes in and a surface comes out.
//
//     c++ -std=c++11 game_loop.cpp $(pkg-config --cflags --libs meniscus) -o game_loop && ./game_loop
#include <meniscus.hpp>

#include <cmath>
#include <iostream>

static const char scene[] = R"({"meniscus": 1, "frames": [1, 100],
    "domain": {"min": [0, 0, 0], "max": [1, 0.6, 0.4]}, "resolution": {"divisions": 25},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [1, 0.2, 0.4]}}}],
    "colliders": [{"name": "paddle", "shape": {"box": {"min": [0.1, 0, 0], "max": [0.2, 0.5, 0.4]}}}]})";

// The paddle at a frame: a box that swings to and fro about its upper end.
static std::vector<double> paddle(double frame) {
    const double angle = 0.5 * std::sin(0.2 * (frame - 1)), c = std::cos(angle), s = std::sin(angle);
    std::vector<double> points;
    for (int i = 0; i < 8; ++i) {
        const double x = i & 1 ? 0.05 : -0.05, y = i & 2 ? 0.0 : -0.45, z = i & 4 ? 0.4 : 0.0;
        points.insert(points.end(), {0.5 + c * x - s * y, 0.5 + s * x + c * y, z});
    }
    return points;
}

int main() try {
    const std::vector<uint32_t> triangles = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                             2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};
    meniscus::Simulation water(scene);
    const double before = water.volume();
    for (int64_t frame = 1; frame < 13; ++frame) {
        // Where the paddle is now, and where it will be when this frame ends.
        const std::vector<double> now = paddle(double(frame)), next = paddle(double(frame + 1));
        water.set_geometry(MNS_GEOMETRY_COLLIDER, "paddle",
                           {meniscus::MeshSample(double(frame), now, triangles),
                            meniscus::MeshSample(double(frame + 1), next, triangles)});
        water.step();
        const mns_report report = water.report();
        std::cout << "frame " << report.frame << ": " << 1000 * report.volume << " l, up to " << report.max_speed
                  << " m/s, " << water.field<uint32_t>("surface.triangle").size() << " triangles\n";
    }
    return water.volume() > 0.5 * before ? 0 : 1;
} catch (const meniscus::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
