// The frame rule: what resets, what never does, and that every way to a frame gives the same bits.
#include "fake_host.hpp"
#include "test.hpp"

#include <filesystem>
#include <thread>

#include <unistd.h>

using namespace meniscus::node;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone at the end of the test.
struct Folder {
    Folder() {
        static int number = 0;
        path = (fs::temp_directory_path() / ("meniscus_node_" + std::to_string(getpid()) + "_" + std::to_string(number++))).string();
        fs::create_directories(path);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    std::string path;
};

std::shared_ptr<const Frame> frame_of(Node &node, FakeHost &host, double frame) {
    const Cooked cooked = node.cook(host, frame);
    if (cooked.status != Status::Done) test::fail("cook", static_cast<int>(frame), told(cooked));
    return cooked.frame;
}

/// A shot with everything animated: a swinging paddle read twice a frame, viscosity and gravity.
void animate(FakeHost &host) {
    host.collider = swinging;
    host.collider_moves = true;
    host.set("collider_samples", 2);
    host.animate("viscosity", [](double f) { return Value(0.01 * (f - 1000)); });
    host.animate("gravity", [](double f) { return Value(std::sin(0.4 * f), -9.81, 0); });
    host.animate("time_scale", [](double f) { return Value(1 + 0.2 * std::sin(f)); });
    host.set("start_frame", 1001);
}

TEST(playing_through_a_shot_gives_liquid_that_keeps_its_volume) {
    FakeHost host;
    Node node;
    double first = 0;
    for (int f = 1; f <= 8; ++f) {
        const auto frame = frame_of(node, host, f);
        CHECK_EQ(frame->frame, f);
        CHECK(frame->points.size() > 300 && frame->triangles.size() > 300);
        CHECK_EQ(frame->velocities.size(), frame->points.size());
        if (f == 1) first = frame->volume;
        CHECK(std::abs(frame->volume / first - 1) < 0.02);
    }
    CHECK_EQ(node.begun(), 1);
}

TEST(a_jump_from_1001_to_1050_gives_the_bits_of_playing_through) {
    FakeHost host, other;
    animate(host);
    animate(other);
    Node played, jumped;
    std::shared_ptr<const Frame> last;
    for (int f = 1001; f <= 1050; ++f) last = frame_of(played, host, f);
    const auto landed = frame_of(jumped, other, 1050);
    CHECK(same(*last, *landed));
    CHECK_EQ(played.begun(), 1);
    // Every missing frame and the sample between was read, once.
    CHECK_EQ(other.read_at.size(), 1u + 1u + 2u * 49u);
    CHECK_EQ(other.read_at.back(), 1050.0);
    CHECK_EQ(other.read_at[2], 1001.5);
}

TEST(scrubbing_back_shows_the_kept_frame_and_computes_nothing) {
    FakeHost host;
    Node node;
    std::vector<std::shared_ptr<const Frame>> frames(9);
    for (int f = 1; f <= 8; ++f) frames[static_cast<std::size_t>(f)] = frame_of(node, host, f);
    host.seen.clear();
    for (int f : {3, 7, 1, 8, 2}) CHECK(same(*frames[static_cast<std::size_t>(f)], *frame_of(node, host, f)));
    CHECK(host.seen.empty());
    CHECK_EQ(node.begun(), 1);
}

TEST(a_jump_back_to_a_forgotten_frame_restores_the_nearest_state) {
    Folder folder;
    FakeHost host;
    animate(host);
    host.set("cache_dir", folder.path);
    host.set("checkpoint_every", 5);
    Node node;
    std::vector<std::shared_ptr<const Frame>> frames;
    for (int f = 1001; f <= 1016; ++f) frames.push_back(frame_of(node, host, f));
    // Another session finds states but no frames.
    for (const auto &entry : fs::recursive_directory_iterator(folder.path))
        if (entry.path().extension() == ".mnsframe") fs::remove(entry.path());
    FakeHost later;
    animate(later);
    later.set("cache_dir", folder.path);
    later.set("checkpoint_every", 5);
    Node resumed;
    CHECK(same(*frames[13], *frame_of(resumed, later, 1014)));
    // From 1011 on three frames were computed; going back to 1008 takes two from 1006.
    const auto steps = [&] {
        int64_t least = 9999;
        for (const Progress &p : later.seen) least = std::min(least, p.frame);
        return least;
    };
    CHECK(steps() >= 1012);
    CHECK(same(*frames[7], *frame_of(resumed, later, 1008)));
    CHECK(same(*frames[15], *frame_of(resumed, later, 1016)));
    CHECK_EQ(resumed.begun(), 1);
}

TEST(animated_viscosity_never_resets_and_a_changed_one_does) {
    FakeHost host;
    host.animate("viscosity", [](double f) { return Value(0.5 * f); });
    Node node;
    for (int f = 1; f <= 4; ++f) frame_of(node, host, f);
    // The artist edits the curve: nothing resets, and a kept frame says what it was made with.
    host.animate("viscosity", [](double f) { return Value(2 * f); });
    frame_of(node, host, 5);
    CHECK_EQ(node.begun(), 1);
    const Cooked kept = node.cook(host, 3);
    CHECK(says(kept, Level::Info, "Viscosity 1.5 Pa.s; Reset"));
    host.set("viscosity", 1.0);
    frame_of(node, host, 5);
    CHECK_EQ(node.begun(), 2);
    host.set("friction", 0.5);
    frame_of(node, host, 2);
    CHECK_EQ(node.begun(), 3);
}

TEST(what_is_animated_reaches_the_liquid) {
    FakeHost still, moved;
    moved.animate("gravity", [](double f) { return f < 1.5 ? Value(0, -9.81, 0) : Value(3, -9.81, 0); });
    Node a, b;
    const auto fallen = frame_of(a, still, 6), pushed = frame_of(b, moved, 6);
    // The mean place of the surface: a single drop may be anywhere.
    const auto middle = [](const Frame &frame) {
        double sum = 0;
        for (std::size_t i = 0; i < frame.points.size(); i += 3) sum += frame.points[i];
        return 3 * sum / double(frame.points.size());
    };
    const double left = middle(*fallen), right = middle(*pushed);
    CHECK(right > left + 0.01);
}

TEST(undo_finds_the_old_frames_again) {
    FakeHost host;
    Node node;
    const auto before = frame_of(node, host, 5);
    host.set("density", 900);
    frame_of(node, host, 5);
    CHECK_EQ(node.begun(), 2);
    host.set("density", 1000);
    host.seen.clear();
    CHECK(same(*before, *frame_of(node, host, 5)));
    CHECK(host.seen.empty());
    CHECK_EQ(node.begun(), 2);
    // And the simulation goes on from there.
    FakeHost fresh;
    Node through;
    CHECK(same(*frame_of(through, fresh, 7), *frame_of(node, host, 7)));
}

TEST(a_display_option_changes_nothing) {
    FakeHost host;
    Node node;
    const auto before = frame_of(node, host, 4);
    for (const char *option : {"output_velocity", "output_bounds", "output_bodies"}) host.set(option, 0.0);
    host.set("cache_memory", 1.0);
    host.set("end_frame", 90);
    CHECK(same(*before, *frame_of(node, host, 4)));
    host.set("output", "both");
    const auto both = frame_of(node, host, 4);
    CHECK(same(*before, *both));
    CHECK(both->has_particles && 3 * id_of(*both).size() == both->particle_points.size() && !id_of(*both).empty());
    CHECK_EQ(node.begun(), 1);
}

TEST(cancelling_in_mid_frame_loses_nothing) {
    FakeHost host, other;
    animate(host);
    animate(other);
    host.set("substeps_min", 60);
    other.set("substeps_min", 60);
    Node node, whole;
    const auto at_1003 = frame_of(node, host, 1003);
    host.watch = [](const Progress &p) { return !(p.frame == 1005 && p.fraction > 0.1); };
    const Cooked stopped = node.cook(host, 1006);
    CHECK(stopped.status == Status::Cancelled);
    CHECK(says(stopped, Level::Info, "stopped"));
    CHECK_EQ(stopped.frame->frame, 1004);
    host.watch = nullptr;
    const auto finished = frame_of(node, host, 1006);
    CHECK(same(*frame_of(whole, other, 1006), *finished));
    CHECK(same(*at_1003, *frame_of(node, host, 1003)));
    CHECK_EQ(node.begun(), 1);
}

TEST(going_back_after_cancelling_restores_a_whole_frame) {
    FakeHost host, other;
    animate(host);
    animate(other);
    host.set("cache_memory", 1.0);
    host.set("substeps_min", 60);
    other.set("substeps_min", 60);
    host.watch = [](const Progress &p) { return !(p.frame == 1004 && p.fraction > 0.1); };
    Node node, whole;
    CHECK(node.cook(host, 1006).status == Status::Cancelled);
    host.watch = nullptr;
    host.set("output", "particles");
    other.set("output", "particles");
    // The frame is kept without particles, so it is computed again from the start.
    const auto a = frame_of(node, host, 1002), b = frame_of(whole, other, 1002);
    CHECK(same(*a, *b) && a->particle_points == b->particle_points && a->particle_attributes == b->particle_attributes);
}

TEST(frames_may_be_negative_fractional_and_before_the_start) {
    FakeHost host;
    host.set("start_frame", -5);
    host.rate = {24000, 1001};
    Node node;
    const auto first = frame_of(node, host, -5);
    CHECK_EQ(first->frame, -5);
    CHECK(same(*first, *frame_of(node, host, -90)));
    CHECK_EQ(frame_of(node, host, -2)->frame, -2);
    const Cooked between = node.cook(host, -1.75);
    CHECK_EQ(between.frame->frame, -2);
    CHECK(std::abs(between.after - 0.25 * 1001 / 24000) < 1e-15);
    CHECK_EQ(node.begun(), 1);
}

TEST(a_collider_may_change_its_topology) {
    for (const bool velocities : {false, true}) {
        FakeHost host;
        host.collider_moves = true;
        host.collider = [velocities](double f) {
            // A box that slides and is cut into more triangles from frame 4 on.
            const double x = 0.3 - 0.01 * f;
            Mesh mesh = box(x, 0, 0.02, x + 0.08, 0.1, 0.18);
            if (f >= 4) {
                mesh.points.insert(mesh.points.end(), {float(x + 0.04), 0.1f, 0.1f});
                mesh.triangles.erase(mesh.triangles.begin() + 18, mesh.triangles.begin() + 24);
                for (auto edge : {std::array<uint32_t, 2>{2, 6}, {6, 7}, {7, 3}, {3, 2}})
                    mesh.triangles.insert(mesh.triangles.end(), {edge[0], edge[1], 8});
            }
            if (velocities)
                for (std::size_t i = 0; i < mesh.points.size() / 3; ++i) mesh.velocities.insert(mesh.velocities.end(), {-0.24f, 0, 0});
            return mesh;
        };
        Node node, again;
        const auto frame = frame_of(node, host, 7);
        CHECK(frame->volume > 0);
        CHECK(frame->substeps < 20);
        CHECK(same(*frame, *frame_of(again, host, 7)));
        CHECK_EQ(node.begun(), 1);
    }
}

TEST(removing_an_input_resets_and_goes_on_without_it) {
    FakeHost host, bare;
    host.collider = [](double) { return box(0.2, 0, 0, 0.24, 0.1, 0.2); };
    Node node, never;
    const auto held = frame_of(node, host, 5);
    host.collider = nullptr;
    const auto free = frame_of(node, host, 5);
    CHECK(!same(*held, *free));
    CHECK(same(*free, *frame_of(never, bare, 5)));
    CHECK_EQ(node.begun(), 2);
}

TEST(an_input_that_vanishes_between_frames_is_gone_and_comes_back) {
    FakeHost host;
    host.collider_moves = true;
    host.inputs = [](double f) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        // A gate that stands from frame 1 to 3, is lifted away, and stands again from frame 6.
        if (f <= 3 || f >= 6) in.colliders.push_back({"gate", box(0.2, 0, 0, 0.24, 0.3, 0.2), {}});
        return in;
    };
    Node node, jumped;
    auto furthest = [](const Frame &frame) {
        float x = 0;
        for (std::size_t i = 0; i < frame.points.size(); i += 3) x = std::max(x, frame.points[i]);
        return x;
    };
    CHECK(furthest(*frame_of(node, host, 3)) < 0.23f);
    CHECK(furthest(*frame_of(node, host, 6)) > 0.23f);
    const auto last = frame_of(node, host, 8);
    CHECK_EQ(node.begun(), 1);
    CHECK(same(*last, *frame_of(jumped, host, 8)));
}

TEST(a_newcomer_that_the_start_did_not_have_is_named) {
    FakeHost host;
    host.collider_moves = true;
    host.inputs = [](double f) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
        if (f >= 2) in.colliders.push_back({"lid", box(0.2, 0.25, 0, 0.24, 0.28, 0.2), {}});
        return in;
    };
    Node node;
    CHECK(says(node.cook(host, 3), Level::Warning, "lid: was not there at the start frame"));
    CHECK(!says(node.cook(host, 4), Level::Warning, "lid"));
}

TEST(two_nodes_in_one_scene_do_not_disturb_each_other) {
    FakeHost one, two, alone;
    two.set("viscosity", 1.0);
    Node first, second, third;
    std::shared_ptr<const Frame> a, b;
    for (int f = 1; f <= 5; ++f) {
        a = frame_of(first, one, f);
        b = frame_of(second, two, f);
    }
    CHECK(same(*a, *frame_of(third, alone, 5)));
    CHECK(a->points != b->points);
    // And at the same time.
    FakeHost left, right;
    Node l, r;
    std::shared_ptr<const Frame> x, y;
    std::thread other([&] { x = l.cook(left, 6).frame; });
    y = r.cook(right, 6).frame;
    other.join();
    CHECK(same(*x, *y));
}

TEST(an_emitter_opens_closes_and_meets_its_rate) {
    FakeHost host;
    host.inputs = [](double) {
        Inputs in;
        Object tap{"tap", box(0.16, 0.22, 0.06, 0.24, 0.28, 0.14), {}};
        tap.own["source_mode"] = Value("emit");
        in.sources.push_back(tap);
        return in;
    };
    host.set("rate", 600);
    host.set("source_velocity", Value(0, -1, 0));
    host.animate("active", [](double f) { return Value(f < 7); });
    Node node;
    const auto open = frame_of(node, host, 7), later = frame_of(node, host, 12);
    // By the ledger: 600 ml/s for a quarter of a second, the filling of the region, 384 ml, and at most that of the
    // layer of cells below it, 128 ml.
    CHECK(open->volume_expected > 0.15e-3 && open->volume_expected < 0.67e-3);
    CHECK(std::abs(later->volume_expected - open->volume_expected) < 0.03e-3);
    CHECK_EQ(node.begun(), 1);
}

TEST(a_scene_in_centimetres_is_the_same_liquid) {
    FakeHost metres, centimetres;
    centimetres.set("unit_length", 0.01);
    centimetres.set("domain_max", Value(40, 30, 20));
    centimetres.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 16, 20, 20), {}});
        return in;
    };
    Node a, b;
    const auto m = frame_of(a, metres, 4), c = frame_of(b, centimetres, 4);
    CHECK(std::abs(m->volume - c->volume) < 1e-4 * m->volume);
    float high = 0, low = 0;
    for (std::size_t i = 0; i < m->points.size(); i += 3) high = std::max(high, m->points[i]);
    for (std::size_t i = 0; i < c->points.size(); i += 3) low = std::max(low, c->points[i]);
    CHECK(std::abs(100 * high - low) < 0.5f);
}

TEST(the_velocity_is_per_second_of_film) {
    FakeHost normal, slow;
    slow.set("time_scale", 0.5);
    Node a, b;
    auto fastest = [](const Frame &f) {
        float v = 0;
        for (float c : f.velocities) v = std::max(v, std::abs(c));
        return v;
    };
    // Half as fast, and after twice the frames at the same place.
    const auto n = frame_of(a, normal, 4), s = frame_of(b, slow, 7);
    CHECK(std::abs(fastest(*s) / fastest(*n) - 0.5f) < 0.1f);
}

TEST(forces_that_stand_at_points_pull_the_liquid) {
    FakeHost still, pulled;
    const auto inputs = pulled.inputs;
    pulled.forces_move = true;
    pulled.inputs = [inputs](double f) {
        Inputs in = inputs(f);
        Force force;
        force.center[0] = 0.4;
        force.center[1] = 0.1 + 0.01 * f;
        force.center[2] = 0.1;
        force.strength = 30;
        force.radius = 1;
        in.forces.push_back(force);
        return in;
    };
    Node a, b;
    const auto x = frame_of(a, still, 4), y = frame_of(b, pulled, 4);
    double mean[2] = {0, 0};
    for (std::size_t i = 0; i < x->points.size(); i += 3) mean[0] += double(x->points[i]) / double(x->points.size() / 3);
    for (std::size_t i = 0; i < y->points.size(); i += 3) mean[1] += double(y->points[i]) / double(y->points.size() / 3);
    CHECK(mean[1] > mean[0] + 0.01);
}

TEST(floating_bodies_are_where_the_simulation_has_them) {
    FakeHost host;
    host.set("unit_length", 0.5);
    host.set("domain_max", Value(0.8, 0.6, 0.4));
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.8, 0.2, 0.4), {}});
        // A collider stands before the bodies in the simulation's list of poses.
        in.colliders.push_back({"post", box(0.7, 0, 0.3, 0.76, 0.4, 0.36), {}});
        Object cork{"cork", box(0.1, 0.15, 0.1, 0.24, 0.29, 0.24), {}}, stone{"stone", box(0.4, 0.3, 0.1, 0.54, 0.44, 0.24), {}};
        cork.own["body_density"] = Value(250);
        stone.own["body_density"] = Value(3000);
        in.bodies = {cork, stone};
        return in;
    };
    Node node;
    const auto first = frame_of(node, host, 1);
    CHECK_EQ(first->bodies.size(), 2u);
    CHECK_EQ(first->bodies[0].name, "cork");
    CHECK_EQ(first->bodies[1].name, "stone");
    for (const BodyPose &body : first->bodies) {
        const double still[8] = {0, 0, 0, 1, 0, 0, 0, 1};
        for (int i = 0; i < 8; ++i) CHECK(std::abs(body.pose[i] - still[i]) < 1e-12);
    }
    const auto later = frame_of(node, host, 5);
    // The stone falls freely for four frames: g t^2 / 2 in units of half a metre, until it meets water 0.1 units below.
    const double t = 4.0 / 24, fallen = 0.5 * 9.81 * t * t / 0.5;
    const double *stone = later->bodies[1].pose, *cork = later->bodies[0].pose;
    CHECK(stone[1] < -0.1 && stone[1] > -fallen);
    // The cork is a third as heavy as the water that it displaces, and rises or stays.
    CHECK(cork[1] > -0.03);
    CHECK(std::abs(stone[3]) > 0.5 && std::abs(stone[7] - 1) < 1e-12);
    // A frame that was kept has its bodies too.
    CHECK(frame_of(node, host, 1)->bodies.size() == 2u);
    const auto packed = unpack(pack(*later));
    CHECK(packed && packed->bodies.size() == 2u && packed->bodies[1].pose[1] == stone[1]);
}

TEST(a_drain_swallows_what_comes_into_it) {
    FakeHost host;
    host.inputs = [](double) {
        Inputs in;
        in.sources.push_back({"pool", box(0, 0, 0, 0.4, 0.16, 0.2), {}});
        Object drain{"drain", box(0, 0, 0, 0.1, 0.1, 0.2), {}};
        drain.own["source_mode"] = Value("drain");
        in.sources.push_back(drain);
        return in;
    };
    host.animate("active", [](double f) { return Value(f >= 4); });
    Node node;
    const double full = frame_of(node, host, 3)->volume;
    CHECK(std::abs(full - 0.4 * 0.16 * 0.2) < 0.03 * full);
    CHECK(frame_of(node, host, 8)->volume < 0.9 * full);
    CHECK_EQ(node.begun(), 1);
}

TEST(a_source_may_be_thicker_than_the_others) {
    // Two columns fall side by side; the right one is honey.
    FakeHost thin, mixed;
    const auto columns = [](double own) {
        return [own](double) {
            Inputs in;
            in.sources.push_back({"water", box(0, 0, 0, 0.08, 0.2, 0.2), {}});
            Object right{"honey", box(0.32, 0, 0, 0.4, 0.2, 0.2), {}};
            if (own >= 0) right.own["source_viscosity"] = Value(own);
            in.sources.push_back(right);
            return in;
        };
    };
    thin.inputs = columns(-1);
    mixed.inputs = columns(100);
    std::vector<Message> messages;
    const Json scene = Shot(mixed, mixed.wires(), messages).scene(mixed, Recording(), 2);
    CHECK_EQ(scene.get("liquids").items().size(), 2u);
    CHECK_EQ(scene.get("liquids").items()[1].get("viscosity").number(), 100.0);
    CHECK_EQ(scene.get("initial").items()[1].get("liquid").text(), "liquid 2");
    // Where there are several, the surface says which is where.
    CHECK_EQ(scene.get("outputs").get("attributes").items().at(0).text(), "viscosity");
    CHECK(scene.get("initial").items()[0].get("liquid").kind() == Json::Kind::Null);
    Node a, b;
    // Highest point of the right half: water has fallen, honey still stands.
    const auto top = [](const Frame &frame) {
        float y = 0;
        for (std::size_t i = 0; i < frame.points.size(); i += 3)
            if (frame.points[i] > 0.34f) y = std::max(y, frame.points[i + 1]);
        return y;
    };
    const float fell = top(*frame_of(a, thin, 6)), stood = top(*frame_of(b, mixed, 6));
    CHECK(stood > fell + 0.02f);
}

TEST(detail_where_it_counts_can_be_chosen_and_bodies_float_there_too) {
    FakeHost host;
    host.set("simulator", "bcc");
    host.set("particle_separation", 0.01);
    Node node;
    const auto first = frame_of(node, host, 2);
    CHECK(first->points.size() > 300 && std::abs(first->volume - 6.4e-3) < 0.3e-3);
    const auto inputs = host.inputs;
    host.inputs = [inputs](double f) {
        Inputs in = inputs(f);
        in.bodies.push_back({"cork", box(0.1, 0.15, 0.1, 0.14, 0.19, 0.14), {}});
        return in;
    };
    const auto afloat = frame_of(node, host, 2);
    CHECK_EQ(afloat->bodies.size(), std::size_t(1));
    CHECK(afloat->bodies[0].name == "cork" && std::isfinite(afloat->bodies[0].pose[1]));
}

TEST(the_container_input_is_the_domain) {
    FakeHost host, numbers;
    const auto inputs = host.inputs;
    host.inputs = [inputs](double f) {
        Inputs in = inputs(f);
        in.has_container = true;
        const double lo[3] = {0, 0, 0}, hi[3] = {0.3, 0.3, 0.2};
        std::copy(lo, lo + 3, in.container_min);
        std::copy(hi, hi + 3, in.container_max);
        return in;
    };
    numbers.set("domain_max", Value(0.3, 0.3, 0.2));
    Node a, b;
    CHECK(same(*frame_of(a, host, 4), *frame_of(b, numbers, 4)));
}

} // namespace
