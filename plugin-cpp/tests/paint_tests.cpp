// What is painted on the inputs: it reaches the liquid and its walls, follows the frame rule, and comes out by its name.
#include "fake_host.hpp"
#include "test.hpp"

using namespace meniscus::node;

namespace {

std::shared_ptr<const Frame> frame_of(Node &node, FakeHost &host, double frame) {
    const Cooked cooked = node.cook(host, frame);
    if (cooked.status != Status::Done) test::fail("cook", static_cast<int>(frame), told(cooked));
    return cooked.frame;
}

/// A pool with one thing painted on it.
void paint(FakeHost &host, const char *name, std::function<double(double, double, double)> by) {
    const std::string called = name;
    host.inputs = [=](double) {
        Inputs in;
        in.sources.push_back({"pool", painted(box(0, 0, 0, 0.16, 0.2, 0.2), called.c_str(), by), {}});
        return in;
    };
}

TEST(an_attribute_painted_on_a_source_arrives_on_the_surface_and_on_the_particles) {
    FakeHost host;
    paint(host, "heat", [](double x, double, double) { return x < 0.1 ? 0.0 : 1.0; });
    host.set("output", "both");
    Node node;
    const auto first = frame_of(node, host, 1), later = frame_of(node, host, 4);
    for (const auto &frame : {first, later}) {
        const std::vector<float> heat = carried(*frame, "heat");
        CHECK_EQ(heat.size(), frame->points.size() / 3);
        for (float h : heat) CHECK(h > -1e-5f && h < 1.00001f);
        bool found = false;
        for (const Attribute &a : frame->particle_attributes) found = found || (a.name == "heat" && a.floats.size() == frame->particle_points.size() / 3);
        CHECK(found);
    }
    CHECK(mean(*first, "heat", 0, 0.03) < 0.2 && mean(*first, "heat", 0.13, 0.2) > 0.8);
    // What runs ahead came from the warm side.
    CHECK(mean(*later, "heat", 0.18, 0.4) > 0.7);
    // Other paint is another shot, and the old one is found again.
    paint(host, "heat", [](double, double, double) { return 3.0; });
    CHECK(std::abs(mean(*frame_of(node, host, 2), "heat", 0, 1) - 3) < 1e-5);
    CHECK_EQ(node.begun(), 2);
    paint(host, "heat", [](double x, double, double) { return x < 0.1 ? 0.0 : 1.0; });
    CHECK(same(*later, *frame_of(node, host, 4)));
    CHECK_EQ(node.begun(), 2);
}

TEST(liquid_is_thick_where_its_source_was_painted_thick) {
    FakeHost host, thin;
    paint(host, "viscosity", [](double, double, double z) { return z < 0.1 ? 300.0 : 0.0; });
    Node a, b;
    const auto thick = frame_of(a, host, 6), free = frame_of(b, thin, 6);
    const auto front = [](const Frame &frame, bool near) {
        double far = 0;
        for (std::size_t i = 0; i < frame.points.size(); i += 3)
            if ((frame.points[i + 2] < 0.04f) == near) far = std::max(far, double(frame.points[i]));
        return far;
    };
    CHECK(carried(*thick, "viscosity").size() == thick->points.size() / 3 && carried(*free, "viscosity").empty());
    CHECK(front(*free, true) > 0.2);
    CHECK(front(*thick, true) < 0.18);
    CHECK(front(*thick, true) < front(*thick, false));
}

TEST(a_point_painted_below_zero_is_as_thick_as_the_panel_says) {
    FakeHost host;
    host.set("viscosity", 7.0);
    paint(host, "viscosity", [](double, double, double) { return -1.0; });
    Node node;
    for (float v : carried(*frame_of(node, host, 2), "viscosity")) CHECK(std::abs(v - 7) < 1e-4f);
}

TEST(paint_that_changes_with_time_never_resets_and_every_way_gives_the_same_bits) {
    const auto tap = [](FakeHost &host) {
        host.source_moves = true;
        host.set("collider_samples", 2);
        host.set("checkpoint_every", 3);
        host.inputs = [](double f) {
            Inputs in;
            Mesh mesh = painted(box(0.16, 0.2, 0.06, 0.24, 0.28, 0.14), "heat", [f](double x, double, double) { return f + 10 * x; });
            mesh = painted(mesh, "viscosity", [f](double, double, double) { return 0.5 * f; });
            if (f > 3) mesh = painted(mesh, "late", [](double, double, double) { return 1.0; });
            in.sources.push_back({"tap", mesh, {{"source_mode", Value("emit")}, {"source_velocity", Value(0, -1, 0)}}});
            return in;
        };
    };
    FakeHost host, other, back;
    tap(host);
    tap(other);
    tap(back);
    back.set("cache_memory", 0.0);
    Node played, jumped, returned;
    std::vector<std::shared_ptr<const Frame>> frames{nullptr};
    bool warned = false;
    for (int f = 1; f <= 8; ++f) {
        const Cooked cooked = played.cook(host, f);
        CHECK(cooked.status == Status::Done);
        warned = warned || says(cooked, Level::Warning, "attribute late");
        frames.push_back(cooked.frame);
    }
    CHECK(warned && carried(*frames[8], "late").empty());
    CHECK_EQ(played.begun(), 1);
    CHECK(same(*frames[8], *frame_of(jumped, other, 8)));
    // Forgotten frames are made again from a kept state.
    frame_of(returned, back, 8);
    CHECK(same(*frames[6], *frame_of(returned, back, 6)));
    // The freshest liquid, at the tap, came in last: a number a frame, and up to one more for the place on the tap.
    const Frame &last = *frames[8];
    const std::vector<float> heat = carried(last, "heat"), thick = carried(last, "viscosity");
    double high = 0, low = 0, high_count = 0, low_count = 0;
    for (std::size_t i = 0; i < heat.size(); ++i) {
        // By way of a mean over places from .16 to .24 of the tap.
        CHECK(heat[i] > 2.5f && heat[i] < 10.5f && thick[i] > 0.4f && thick[i] < 4.1f);
        (last.points[3 * i + 1] > 0.24f ? high : low) += heat[i];
        (last.points[3 * i + 1] > 0.24f ? high_count : low_count) += 1;
    }
    CHECK(high_count > 0 && low_count > 0);
    CHECK(high / high_count > low / low_count + 1);
}

TEST(water_stops_where_friction_was_painted_on_a_collider) {
    const auto floor = [](FakeHost &host, double rough) {
        host.set("wall", "slide");
        host.inputs = [=](double) {
            Inputs in;
            in.sources.push_back({"sheet", box(0, 0.04, 0, 0.12, 0.1, 0.2), {{"source_velocity", Value(1, 0, 0)}}});
            in.colliders.push_back({"floor", painted(box(-0.1, -0.06, -0.1, 0.5, 0.04, 0.3), "friction", [=](double, double, double) { return rough; }), {}});
            return in;
        };
    };
    FakeHost rough, smooth;
    floor(rough, 0.6);
    floor(smooth, 0);
    Node a, b;
    const auto speed = [](const Frame &frame) {
        double sum = 0;
        for (std::size_t i = 0; i < frame.velocities.size(); i += 3) sum += double(frame.velocities[i]);
        return 3 * sum / double(frame.velocities.size());
    };
    CHECK(speed(*frame_of(a, rough, 4)) < 0.8 * speed(*frame_of(b, smooth, 4)));
}

TEST(names_are_chosen_and_what_cannot_be_carried_is_left_out) {
    CHECK(matches("*", "heat") && matches("* ^uv", "heat") && !matches("* ^uv", "uv") && matches("h?at ^x", "heat") && !matches("", "heat"));
    CHECK(!matches("^heat *x", "heat") && matches("a*t heat", "heat"));
    FakeHost host;
    host.inputs = [](double) {
        Inputs in;
        Mesh mesh = painted(box(0, 0, 0, 0.16, 0.2, 0.2), "wanted", [](double x, double, double) { return x < 0.1 ? std::nan("") : 2.0; });
        for (const char *name : {"rest", "id", "N", "rate", "a b", "pscale"}) mesh = painted(mesh, name, [](double, double, double) { return 1.0; });
        mesh.attributes.push_back({"short", 1, {1, 2}, {}});
        mesh.attributes.push_back({"wide", 9, std::vector<float>(72, 1), {}});
        in.sources.push_back({"pool", mesh, {}});
        return in;
    };
    host.set("carry", "* ^rest");
    Node node;
    const Cooked cooked = node.cook(host, 2);
    if (cooked.status != Status::Done) test::fail("cook", 2, told(cooked));
    CHECK_EQ(cooked.frame->attributes.size(), 1u);
    CHECK_EQ(cooked.frame->attributes[0].name, "wanted");
    // On tetrahedra nothing is carried, and that is said.
    host.set("simulator", "bcc");
    host.set("detail", 2);
    const Cooked other = node.cook(host, 1);
    CHECK(other.status == Status::Done && other.frame->attributes.empty());
    CHECK(says(other, Level::Info, "carries no attributes"));
}

} // namespace
