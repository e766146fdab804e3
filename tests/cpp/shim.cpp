// The C++ header as a stranger uses it: owners, views, exceptions, callbacks that throw, both doors.
#include <meniscus.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>

static int failures = 0;

static void expect(const char *what, bool holds) {
    if (holds) return;
    std::printf("FAILED: %s\n", what);
    ++failures;
}

static const std::string scene = R"({"meniscus": 1, "frames": [1, 10], "threads": 1,
    "domain": {"min": [0, 0, 0], "max": [0.4, 0.3, 0.2]}, "resolution": {"divisions": 8},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]}}}],
    "colliders": [{"name": "post", "shape": {"sphere": {"center": [0.3, 0, 0.1], "radius": 0.05}}}]})";

/// The code that a call fails with; 0 if it does not fail.
template <class F> int code_of(F call) {
    try {
        call();
    } catch (const meniscus::Error &error) {
        return *error.what() ? error.code() : 1;
    }
    return 0;
}

struct Stumble : std::runtime_error {
    Stumble() : std::runtime_error("a host stumbled") {}
};

static void errors() {
    expect("a wrong scene", code_of([] { meniscus::Simulation("{\"watre\": 1}"); }) == MNS_ERROR_SCENE);
    expect("a wrong estimate", code_of([] { meniscus::estimate("{}"); }) == MNS_ERROR_SCENE);
    expect("an estimate", meniscus::estimate(scene).particles > 100);
    meniscus::Simulation water(scene);
    expect("no such field", code_of([&] { water.field<double>("surface.colour"); }) == MNS_ERROR_INVALID);
    expect("another type", code_of([&] { water.field<float>("surface.position"); }) == MNS_ERROR_INVALID);
    expect("no such collider", code_of([&] { water.collider_mesh("past"); }) == MNS_ERROR_INVALID);
    expect("no such number", code_of([&] { water.set_keys("watre", {1, 2}); }) == MNS_ERROR_SCENE);
    expect("no such file", code_of([&] { water.load(std::string("/nowhere/at.all")); }) == MNS_ERROR_IO);
}

static void callbacks() {
    meniscus::Simulation water(scene);
    int calls = 0;
    water.step([&](const mns_progress &p) { return ++calls, p.frame == 2; });
    expect("progress", calls > 0 && water.frame() == 2);
    bool cancelled = false;
    try {
        water.step([](const mns_progress &) { return false; });
    } catch (const meniscus::Cancelled &error) {
        cancelled = error.code() == MNS_ERROR_CANCELLED;
    }
    expect("cancelled", cancelled && water.frame() == 2);
    bool stumbled = false;
    try {
        water.advance(9, [](const mns_progress &) -> bool { throw Stumble(); });
    } catch (const Stumble &) {
        stumbled = true;
    }
    expect("what a callback throws arrives", stumbled && water.frame() == 2);
    water.step();
    expect("and the simulation goes on", water.frame() == 3);
}

static void logs() {
    std::vector<std::string> lines;
    meniscus::set_log(MNS_LOG_INFO, [&](int, const std::string &line) { lines.push_back(line); });
    meniscus::Simulation water(scene);
    water.step();
    code_of([&] { water.field<double>("nothing"); });
    expect("a line a frame and a line a failure", lines.size() == 2 && lines[0].find("frame 2") == 0);
    meniscus::set_log(MNS_LOG_INFO, [](int, const std::string &) { throw Stumble(); });
    water.step();
    meniscus::set_log(MNS_LOG_NONE, nullptr);
    water.step();
    expect("a log that throws does no harm", water.frame() == 4 && lines.size() == 2);
    expect("build", meniscus::build_info().find("\"bcc\"") != std::string::npos && meniscus::version() == MNS_VERSION);
}

static void owners() {
    meniscus::Simulation a(scene), b(scene);
    meniscus::Simulation c(std::move(a));
    a = std::move(b);
    expect("moved", a.handle() && c.handle() && a.handle() != c.handle() && !b.handle());
    c.step();
    a.load(c.save());
    expect("loaded", a.frame() == 2 && a.volume() == c.volume());
    const auto post = a.collider_mesh("post");
    expect("a mesh", post.first.size() > 10 && post.first.width() == 3 && post.second.width() == 3);
    const auto names = a.field_names();
    expect("names", names.size() > 15 && names[0] == "surface.position");
    for (const std::string &name : names) {
        mns_array array;
        expect(name.c_str(), mns_simulation_field(a.handle(), name.c_str(), &array) == MNS_OK);
    }
    double lowest = 1e9;
    for (auto p : a.field<double>("cell.position")) lowest = std::fmin(lowest, p[1]);
    expect("cells", lowest < 0.1 && a.field<double>("cell.pressure").size() == a.field<double>("cell.velocity").size());
}

// Still water carries its weight: p = rho g d.
static void grid() {
    meniscus::Grid tank({{8, 8, 1}}, {{0, 0, 0}}, 0.125, 1);
    std::vector<double> phi, fall(72, -9.81 * 0.01);
    for (auto x : tank.positions("liquid_distance")) phi.push_back(x[1] - 0.7);
    tank.set("liquid_distance", phi);
    tank.set("velocity_y", fall);
    tank.set("density", 1000.0);
    expect("unknowns", tank.solve_pressure(0.01, 1e-12).unknowns == 48);
    const auto p = tank.field("pressure");
    for (std::size_t i = 0; i < p.size(); ++i)
        if (phi[i] < 0) expect("weight", std::fabs(p[i][0] + 9810 * phi[i]) < 1e-3);
    tank.set("viscosity", 50.0);
    expect("viscosity", tank.solve_viscosity(0.01).unknowns > 0);
    expect("Stokes", tank.solve_stokes(0.01).unknowns > 0 && tank.field("stress_xy").size() == 81);
    expect("known", tank.field<uint8_t>("known_y").size() == 72);
    expect("no such", code_of([&] { tank.set("colour", 1.0); }) == MNS_ERROR_INVALID);
}

// A block that moves as a whole feels no viscosity, and has no stress.
static void lattice() {
    meniscus::Lattice box({{2, 2, 2}}, {{0, 0, 0}}, 0.5, 2, {0.5, 0.5, 0.5, 0.125}, 1);
    std::vector<double> phi, along;
    for (auto x : box.positions("liquid_distance"))
        phi.push_back(std::fmax(std::fmax(std::fabs(x[0] - 0.5), std::fabs(x[1] - 0.5)), std::fabs(x[2] - 0.5)) - 0.3);
    for (auto n : box.field("normal")) along.push_back(0.3 * n[0] - 0.2 * n[1] + 0.1 * n[2]);
    box.set("liquid_distance", phi);
    box.set("velocity", along);
    box.set("viscosity", 100.0);
    auto options = meniscus::Lattice::options(0.1);
    options.slide = 1;
    expect("unknowns", box.solve_viscosity(options).unknowns > 0);
    const auto after = box.field("velocity");
    const auto known = box.field<uint8_t>("known");
    std::size_t wet = 0;
    for (std::size_t f = 0; f < after.size(); ++f)
        if (known[f][0]) ++wet, expect("goes on", std::fabs(after[f][0] - along[f]) < 1e-5);
    expect("wet", wet > 50);
    const auto stress = box.field("stress");
    expect("stress", stress.width() == 6 && stress.size() == box.field<uint32_t>("tets").size());
    for (auto s : stress)
        for (int i = 0; i < 6; ++i) expect("none", std::fabs(s[i]) < 1e-2);
    expect("pressure", box.solve_pressure(meniscus::Lattice::options(0.1)).unknowns > 0);
    expect("absurd", code_of([&] { box.solve_pressure(meniscus::Lattice::options(-1)); }) == MNS_ERROR_INVALID);
}

int main() try {
    errors();
    callbacks();
    logs();
    owners();
    grid();
    lattice();
    std::printf("%s\n", failures ? "some expectations failed" : "the C++ header holds");
    return failures != 0;
} catch (const std::exception &error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
}
