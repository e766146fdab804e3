// A dam breaks: simulate ten frames, write the surface of each as OBJ.
//
//     c++ -std=c++11 minimal.cpp $(pkg-config --cflags --libs meniscus) -o minimal && ./minimal [folder]
#include <meniscus.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>

static const char scene[] = R"({"meniscus": 1, "frames": [1, 10],
    "domain": {"min": [0, 0, 0], "max": [1, 0.6, 0.4]}, "resolution": {"divisions": 24},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.4, 0.4, 0.4]}}}]})";

int main(int argc, char **argv) try {
    const std::string folder = argc > 1 ? argv[1] : ".";
    meniscus::Simulation water(scene);
    while (water.frame() < 10) {
        water.step();
        const auto triangles = water.field<uint32_t>("surface.triangle");
        char name[32];
        std::snprintf(name, sizeof name, "/water.%04d.obj", static_cast<int>(water.frame()));
        std::ofstream file(folder + name);
        for (auto p : water.field<double>("surface.position")) file << "v " << p[0] << ' ' << p[1] << ' ' << p[2] << '\n';
        for (auto t : triangles) file << "f " << t[0] + 1 << ' ' << t[1] + 1 << ' ' << t[2] + 1 << '\n';
        std::cout << "frame " << water.frame() << ": " << 1000 * water.volume() << " l, " << triangles.size()
                  << " triangles\n";
    }
} catch (const meniscus::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
