// Fields that were computed elsewhere, and what the node says of densities that cannot act.
#include "fake_host.hpp"
#include "test.hpp"

using namespace meniscus::node;

namespace {

Field ball() {
    return field("surface", 1, 0.02, [](double x, double y, double z) {
        return Value(std::sqrt((x - 0.2) * (x - 0.2) + (y - 0.15) * (y - 0.15) + (z - 0.1) * (z - 0.1)) - 0.09);
    });
}

/// Mean along x of positions or velocities.
double mean(const std::vector<float> &all) {
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); i += 3) sum += all[i];
    return sum / double(all.size() / 3);
}

TEST(a_volume_called_surface_is_liquid) {
    FakeHost host;
    host.set("particle_separation", 0.005);
    host.inputs = [](double) {
        Inputs in;
        in.fields.push_back(ball());
        return in;
    };
    Node node;
    const Cooked cooked = node.cook(host, 1);
    CHECK(cooked.status == Status::Done);
    const double exact = 4.0 / 3.0 * 3.14159265358979 * 0.09 * 0.09 * 0.09;
    // Samples of 2 cm cut its roundness, and cells of 1 cm a little more.
    CHECK(std::abs(cooked.frame->volume / exact - 1) < 0.08);
}

TEST(a_volume_called_vel_throws_it_and_force_drives_it) {
    double moved[3], speed[3];
    for (int which = 0; which < 3; ++which) {
        FakeHost host;
        host.set("gravity", Value(0, 0, 0));
        host.inputs = [which](double) {
            Inputs in;
            in.fields.push_back(ball());
            if (which == 1) in.fields.push_back(field("vel", 3, 0.1, [](double, double, double) { return Value(0.5, 0, 0); }));
            if (which == 2) in.fields.push_back(field("force", 3, 0.1, [](double, double, double) { return Value(4, 0, 0); }));
            return in;
        };
        Node node;
        const Cooked cooked = node.cook(host, 4);
        CHECK(cooked.status == Status::Done);
        moved[which] = mean(cooked.frame->points) - 0.2;
        speed[which] = mean(cooked.frame->velocities);
    }
    const double t = 3.0 / 24;
    CHECK(std::abs(moved[0]) < 2e-3);
    CHECK(std::abs(moved[1] - 0.5 * t) < 3e-3);
    CHECK(std::abs(speed[1] - 0.5) < 1e-3 && std::abs(speed[2] - 4 * t) < 1e-3 && moved[2] > 0.01);
}

TEST(a_force_that_changes_is_sampled_and_never_resets) {
    FakeHost host;
    host.fields_move = true;
    host.inputs = [](double f) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        // It vanishes for a while, and stays as it was.
        if (f < 3 || f > 4) in.fields.push_back(field("force", 3, 0.1, [f](double, double, double) { return Value(2 * f, 0, 0); }));
        return in;
    };
    Node playing, jumping;
    Cooked last;
    for (int f = 1; f <= 6; ++f) last = playing.cook(host, f);
    CHECK_EQ(playing.begun(), 1);
    const Cooked jumped = jumping.cook(host, 6);
    CHECK(last.status == Status::Done && jumped.status == Status::Done);
    CHECK(same(*last.frame, *jumped.frame));
    // A field that does not depend on time and changes begins anew.
    host.fields_move = false;
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        in.fields.push_back(field("force", 3, 0.1, [](double, double, double) { return Value(0, 0, 1); }));
        return in;
    };
    CHECK(playing.cook(host, 2).status == Status::Done);
    CHECK_EQ(playing.begun(), 2);
}

TEST(a_density_that_cannot_act_is_named) {
    FakeHost host;
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"oil", painted(box(0, 0, 0, 0.16, 0.1, 0.2), "density", [](double, double, double) { return 800.0; }), {}});
        in.sources.push_back({"water", painted(box(0.2, 0, 0, 0.3, 0.1, 0.2), "density", [](double, double, double) { return 1000.0; }), {}});
        Object lead{"lead", box(0.32, 0, 0, 0.4, 0.1, 0.2), {}};
        lead.own["density"] = Value(11000);
        in.sources.push_back(lead);
        return in;
    };
    Node node;
    const Cooked cooked = node.cook(host, 1);
    CHECK(cooked.status == Status::Done);
    CHECK(says(cooked, Level::Warning, "oil: its density does not act"));
    CHECK(says(cooked, Level::Warning, "lead: its density does not act"));
    CHECK(!says(cooked, Level::Warning, "water: its density"));
}

} // namespace
