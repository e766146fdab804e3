// The Houdini plug-in cooked in a stand-in for Houdini: see hdk_stubs. What the stubs cannot show, the README lists.
#include "../houdini/SOP_Meniscus.h"
#include "../houdini/geometry.h"
#include "fake_host.hpp"
#include "test.hpp"

#include <OP/OP_OperatorTable.h>
#include <PRM/PRM_TemplateBuilder.h>
#include <UT/UT_Interrupt.h>
#include <OP/OP_Operator.h>
#include <OP/OP_Director.h>

#include <cstdlib>
#include <filesystem>

using namespace meniscus::node;

void newSopOperator(OP_OperatorTable *table);

namespace {

/// A box of quadrangles as Houdini has it: clockwise seen from outside.
void add_box(GU_Detail &detail, const Mesh &mesh, const char *name = nullptr) {
    const GA_Offset start = detail.appendPointBlock(8);
    for (int i = 0; i < 8; ++i) detail.setPos3(start + i, UT_Vector3(mesh.points[3 * i], mesh.points[3 * i + 1], mesh.points[3 * i + 2]));
    const int corners[24] = {2, 6, 4, 0, 5, 7, 3, 1, 4, 5, 1, 0, 3, 7, 6, 2, 1, 3, 2, 0, 6, 7, 5, 4};
    GEO_PolyCounts sizes;
    sizes.append(4, 6);
    const GA_Offset first = GU_PrimPoly::buildBlock(&detail, start, 8, sizes, corners);
    if (!name) return;
    detail.addStringTuple(GA_ATTRIB_PRIMITIVE, "name", 1);
    GA_RWHandleS names(&detail, GA_ATTRIB_PRIMITIVE, "name");
    for (GA_Offset p = first; p < first + 6; ++p) names.set(p, name);
}

/// A node with the parameters of the table, wired to inputs.
struct Scene {
    Scene() {
        newSopOperator(&table);
        sop.reset(static_cast<SOP_Node *>(table.operators[0]->stub_construct(nullptr, "honey1", nullptr)));
        for (const Row &row : rows) {
            if (!row.for_houdini) continue;
            PRM_Parm &parm = sop->stub_parms[row.houdini];
            parm.word = row.text;
            int item = 0;
            for (int i = 0; row.items && row.items[i]; ++i)
                if (std::string(row.items[i]) == row.text) item = i;
            const double number[3] = {row.type == Type::Menu ? item : row.number[0], row.number[1], row.number[2]};
            parm.number = [=](int i, double) { return number[i]; };
        }
        set("resets", 0);
        set("particlesep", 0.02);
        const double high[3] = {0.4, 0.3, 0.2};
        sop->stub_parms["domain_max"].number = [=](int i, double) { return high[i]; };
        sop->stub_parms["domain_min"].number = [](int, double) { return 0.0; };
        sop->stub_inputs = {&pool};
    }
    void set(const char *name, double value) { sop->stub_parms[name].number = [value](int, double) { return value; }; }
    OP_ERROR cook(double frame) {
        OP_Context context((frame - 1) / OPgetDirector()->getChannelManager()->getSamplesPerSec());
        return sop->stub_cook(context);
    }
    std::string told() const {
        std::string all;
        for (const auto &m : sop->stub_messages) all += m.second + "; ";
        return all;
    }
    double detail(const char *name) const { return sop->stub_detail.find(GA_ATTRIB_DETAIL, name)->numbers.at(0); }

    OP_OperatorTable table;
    std::unique_ptr<SOP_Node> sop;
    StubInput pool{[](GU_Detail &d, double) { add_box(d, box(0, 0, 0, 0.16, 0.2, 0.2)); }};
};

TEST(the_operator_is_registered_with_its_inputs_and_icon) {
    Scene scene;
    const OP_Operator &op = *scene.table.operators.at(0);
    CHECK_EQ(op.stub_name, "meniscus_solver");
    CHECK_EQ(op.stub_sources[0], 1u);
    CHECK_EQ(op.stub_sources[1], 5u);
    CHECK_EQ(op.stub_icon, "SOP_meniscus_solver");
    // Every parameter that the code evaluates is in the dialog script.
    for (const Row &row : rows)
        if (row.for_houdini) CHECK(PRM_TemplateBuilder::stub_text.find("\"" + std::string(row.houdini) + "\"") != std::string::npos);
}

TEST(a_cook_gives_a_mesh_with_velocity_and_details) {
    Scene scene;
    CHECK_EQ(scene.cook(3), UT_ERROR_NONE);
    const GU_Detail &out = scene.sop->stub_detail;
    CHECK(out.getNumPoints() > 100 && out.getNumPrimitives() > 100);
    CHECK(out.find(GA_ATTRIB_POINT, "v") && out.find(GA_ATTRIB_POINT, "v")->type == GA_TYPE_VECTOR);
    CHECK(std::abs(scene.detail("sim_volume") - 6.4e-3) < 0.3e-3);
    CHECK(std::abs(scene.detail("sim_volume_error")) < 0.02);
    CHECK(scene.detail("sim_substeps") >= 1);
    CHECK(scene.sop->flags().getTimeDep());
    // Clockwise triangles enclose a negative volume by the usual rule.
    double volume = 0;
    for (const auto &prim : out.primitives) {
        double p[3][3];
        for (int c = 0; c < 3; ++c)
            for (int a = 0; a < 3; ++a) p[c][a] = out.getPos3(prim->points[std::size_t(c)])[a];
        volume += (p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) + p[0][1] * (p[1][2] * p[2][0] - p[1][0] * p[2][2]) +
                   p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0])) / 6;
    }
    CHECK(volume < -5e-3);
}

TEST(volumes_of_the_last_input_are_liquid_and_drive_it) {
    Scene scene;
    bool staggered = false;
    scene.set("particlesep", 0.01);
    const auto make = [&](GU_Detail &d, double) {
        const auto transform = openvdb::math::Transform::createLinearTransform(0.02);
        transform->postTranslate(openvdb::Vec3d(0.01, 0.01, 0.01));
        auto surface = openvdb::FloatGrid::create(0.06f);
        surface->setTransform(transform);
        auto vel = openvdb::Vec3SGrid::create(openvdb::Vec3s(0, 0, 0));
        vel->setTransform(transform);
        if (staggered) vel->setGridClass(openvdb::GRID_STAGGERED);
        for (int i = 12; i < 20; ++i)
            for (int j = 0; j < 8; ++j)
                for (int k = 0; k < 10; ++k) {
                    surface->getAccessor().setValue(openvdb::Coord(i, j, k), -0.02f);
                    vel->getAccessor().setValue(openvdb::Coord(i, j, k), openvdb::Vec3s(float(i), 0, 0));
                }
        GU_PrimVDB::buildFromGrid(d, surface, nullptr, "surface");
        GU_PrimVDB::buildFromGrid(d, vel, nullptr, "vel");
    };
    StubInput fields{make};
    scene.sop->stub_inputs = {&scene.pool, nullptr, nullptr, nullptr, &fields};
    CHECK_EQ(scene.cook(1), UT_ERROR_NONE);
    // The pool, and 8 by 8 by 10 voxels of 2 cm.
    if (std::abs(scene.detail("sim_volume") / (6.4e-3 + 640 * 8e-6) - 1) > 0.05) test::fail(__FILE__, __LINE__, std::to_string(scene.detail("sim_volume")) + " m^3");
    GU_Detail detail;
    make(detail, 1);
    std::vector<Field> read = read_fields(detail);
    CHECK_EQ(read.size(), std::size_t(2));
    CHECK(read[1].name == "vel" && read[1].width == 3 && read[1].counts[0] == 8 && read[1].counts[2] == 10);
    CHECK(std::abs(read[1].origin[0] - 0.25) < 1e-12 && std::abs(read[1].steps[4] - 0.02) < 1e-12 && read[1].steps[1] == 0);
    CHECK(read[1].values[0] == 12 && read[1].values[3] == 13);
    CHECK(read[0].width == 1 && read[0].values.size() == 640);
    staggered = true;
    GU_Detail other;
    make(other, 1);
    CHECK(read_fields(other)[1].values[0] == 12.5f);
}

TEST(volumes_stand_beside_the_surface_when_asked_for) {
    Scene scene;
    CHECK_EQ(scene.cook(3), UT_ERROR_NONE);
    const GA_Size without = scene.sop->stub_detail.getNumPrimitives();
    scene.set("output_volumes", 1);
    CHECK_EQ(scene.cook(3), UT_ERROR_NONE);
    const GU_Detail &out = scene.sop->stub_detail;
    CHECK_EQ(out.getNumPrimitives(), without + 2);
    std::map<std::string, openvdb::GridBase::Ptr> grids;
    for (const auto &prim : out.primitives)
        if (prim->getTypeId() == GA_PRIMVDB) {
            const auto &vdb = static_cast<const GU_PrimVDB &>(*prim);
            grids[vdb.stub_name] = vdb.stub_grid;
        }
    CHECK(grids.count("surface") && grids.count("vel"));
    const auto &surface = static_cast<const openvdb::FloatGrid &>(*grids["surface"]);
    const auto &vel = static_cast<const openvdb::Vec3SGrid &>(*grids["vel"]);
    CHECK(surface.stub_class == openvdb::GRID_LEVEL_SET && vel.stub_class == openvdb::GRID_STAGGERED);
    CHECK(std::abs(vel.stub_transform->stub_voxel - 0.04) < 1e-12 && std::abs(surface.stub_transform->stub_voxel - 0.02) < 1e-12);
    // The level set is made of the very triangles that stand beside it.
    CHECK_EQ(GA_Size(surface.stub_triangles.size()), without);
    for (std::size_t i = 0; i < surface.stub_points.size(); ++i)
        for (int a = 0; a < 3; ++a) CHECK_EQ(surface.stub_points[i][a], out.getPos3(GA_Offset(i))[a]);
    // Cells lie on whole coordinates about the liquid, which is in a tank of 0.4 by 0.3 by 0.2 m.
    float fastest = 0, down = 0;
    for (const auto &voxel : vel.stub_values) {
        for (int a = 0; a < 3; ++a) {
            const double at = vel.stub_transform->stub_origin[a] + 0.04 * voxel.first.at[std::size_t(a)];
            CHECK(at > -0.5 && at < 0.9);
            fastest = std::max(fastest, std::abs(voxel.second[a]));
        }
        down = std::min(down, voxel.second[1]);
    }
    // What fell for two frames moves down, no faster than in free fall but for what the collapse pushes.
    CHECK(down < -0.1f && fastest < 9.81f * 4 / 24);
}

TEST(the_same_shot_through_houdini_and_the_fake_host_is_the_same) {
    Scene scene;
    StubInput paddle([](GU_Detail &d, double t) { add_box(d, swinging(24 * t + 1), "paddle"); }, true);
    scene.sop->stub_inputs.push_back(&paddle);
    CHECK_EQ(scene.cook(8), UT_ERROR_NONE);
    // Every missing frame was read.
    CHECK(paddle.stub_cooks >= 8);
    FakeHost host;
    host.collider_moves = true;
    // The same polygons, cut and numbered as the plug-in does.
    host.inputs = [](double f) {
        GU_Detail pool, paddle;
        add_box(pool, box(0, 0, 0, 0.16, 0.2, 0.2));
        add_box(paddle, swinging(f), "paddle");
        Inputs in;
        in.sources = read_pieces(pool, "source", Of::Source);
        in.colliders = read_pieces(paddle, "collider", Of::Collider);
        return in;
    };
    Node node;
    const Frame &frame = *node.cook(host, 8).frame;
    const GU_Detail &out = scene.sop->stub_detail;
    CHECK_EQ(std::size_t(out.getNumPoints()), frame.points.size() / 3);
    CHECK_EQ(std::size_t(out.getNumPrimitives()), frame.triangles.size() / 3);
    for (std::size_t i = 0; i < frame.points.size(); ++i) CHECK(out.positions[i / 3][int(i % 3)] == frame.points[i]);
    const auto &v = out.find(GA_ATTRIB_POINT, "v")->numbers;
    for (std::size_t i = 0; i < frame.velocities.size(); ++i) CHECK(float(v[i]) == frame.velocities[i]);
    // Triangles turn the other way.
    const int other[3] = {0, 2, 1};
    for (std::size_t t = 0; t < frame.triangles.size(); ++t)
        CHECK_EQ(out.primitives[t / 3]->points[t % 3], GA_Offset(frame.triangles[t - t % 3 + std::size_t(other[t % 3])]));
}

TEST(floating_bodies_come_out_as_packed_primitives) {
    Scene scene;
    StubInput balls([](GU_Detail &d, double) {
        add_box(d, box(0.2, 0.2, 0.05, 0.26, 0.26, 0.11), "stone");
        d.addFloatTuple(GA_ATTRIB_DETAIL, "density", 1);
        GA_RWHandleF density(&d, GA_ATTRIB_DETAIL, "density");
        density.set(0, 3000);
    });
    scene.sop->stub_inputs = {&scene.pool, nullptr, nullptr, &balls};
    const auto place = [&](double frame) {
        if (scene.cook(frame) != UT_ERROR_NONE) test::fail(__FILE__, __LINE__, scene.told());
        const GU_Detail &out = scene.sop->stub_detail;
        const auto &last = out.primitives.back();
        CHECK(last->getTypeId() == GA_PRIMPACKED);
        CHECK_EQ(out.find(GA_ATTRIB_PRIMITIVE, "name")->words.back(), "stone");
        return out.getPos3(last->points[0]);
    };
    const UT_Vector3 still = place(1), fell = place(4);
    CHECK(std::abs(still[1]) < 1e-6f);
    // Three frames of free fall are 77 mm.
    CHECK(fell[1] < -0.05f && fell[1] > -0.08f);
    scene.set("output_bodies", 0);
    CHECK_EQ(scene.cook(4), UT_ERROR_NONE);
    CHECK(scene.sop->stub_detail.primitives.back()->getTypeId() == GA_PRIMPOLY);
}

TEST(a_file_that_was_saved_after_resets_finds_its_frames_on_disk) {
    const auto folder = std::filesystem::temp_directory_path() / "meniscus_houdini_reopened";
    std::filesystem::remove_all(folder);
    const auto open = [&](double resets) {
        auto scene = std::make_unique<Scene>();
        scene->sop->stub_parms["cache_dir"].word = folder.string();
        scene->set("resets", resets);
        return scene;
    };
    const auto frames = [&] {
        std::size_t count = 0;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) count += entry.path().extension() == ".mnsframe";
        return count;
    };
    CHECK_EQ(open(0)->cook(4), UT_ERROR_NONE);
    CHECK_EQ(frames(), 4u);
    // Reopened: nothing is simulated, nothing is deleted.
    auto again = open(3);
    int steps = 0;
    UT_AutoInterrupt::stub_escape = [&](int) { return ++steps, false; };
    CHECK_EQ(again->cook(4), UT_ERROR_NONE);
    CHECK_EQ(steps, 0);
    CHECK_EQ(frames(), 4u);
    // The button still resets, and undoing it does not reset once more.
    again->set("resets", 4);
    CHECK_EQ(again->cook(2), UT_ERROR_NONE);
    CHECK(steps > 0);
    CHECK_EQ(frames(), 2u);
    again->set("resets", 3);
    CHECK_EQ(again->cook(2), UT_ERROR_NONE);
    UT_AutoInterrupt::stub_escape = nullptr;
    CHECK_EQ(frames(), 2u);
    std::filesystem::remove_all(folder);
}

TEST(a_menu_that_points_nowhere_is_its_default) {
    Scene scene;
    scene.set("wall", 99);
    scene.set("output", -3);
    scene.set("preset", 1000);
    CHECK_EQ(scene.cook(2), UT_ERROR_NONE);
    CHECK(scene.sop->stub_detail.getNumPrimitives() > 100);
    PRM_TemplateBuilder::stub_callbacks.at("preset")(scene.sop.get(), 0, 0, nullptr);
}

TEST(the_domain_that_is_shown_is_that_of_the_container) {
    Scene scene;
    StubInput container([](GU_Detail &d, double) { add_box(d, box(-0.1, 0, 0, 0.3, 0.25, 0.2)); });
    scene.sop->stub_inputs = {&scene.pool, nullptr, &container};
    scene.set("output_bounds", 1);
    CHECK_EQ(scene.cook(1), UT_ERROR_NONE);
    const GU_Detail &out = scene.sop->stub_detail;
    const UT_Vector3 low = out.positions[out.positions.size() - 8], high = out.positions.back();
    CHECK(low[0] == -0.1f && high[0] == 0.3f && high[1] == 0.25f);
    scene.set("domain", 1);
    CHECK_EQ(scene.cook(1), UT_ERROR_NONE);
    CHECK(out.positions.back()[0] == 0.4f);
    scene.set("domain", 2);
    scene.cook(1);
    CHECK(out.primitives.back()->points.size() == 3u);
}

TEST(attributes_of_any_name_become_point_attributes) {
    Frame frame;
    frame.points = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    frame.triangles = {0, 1, 2};
    frame.attributes = {{"viscosity", 1, {1, 2, 3}, {}}, {"Cd", 3, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {}}, {"uv", 2, {0, 1, 2, 3, 4, 5}, {}}, {"phase", 1, {}, {7, 8, 9}}};
    frame.has_particles = true;
    frame.particle_points = {2, 2, 2};
    frame.particle_attributes = {{"id", 1, {}, {int64_t(1) << 40}}, {"viscosity", 1, {5}, {}}};
    GU_Detail out;
    append_surface(out, frame, 0, false);
    append_particles(out, frame, 0, false);
    const auto numbers = [&](const char *name) { return out.find(GA_ATTRIB_POINT, name)->numbers; };
    CHECK((numbers("viscosity") == std::vector<double>{1, 2, 3, 5}));
    CHECK((numbers("phase") == std::vector<double>{7, 8, 9, 0}));
    CHECK(out.find(GA_ATTRIB_POINT, "uv")->size == 2);
    CHECK((numbers("uv") == std::vector<double>{0, 1, 2, 3, 4, 5, 0, 0}));
    CHECK_EQ(numbers("id")[3], double(int64_t(1) << 40));
    CHECK(out.find(GA_ATTRIB_POINT, "Cd")->size == 3 && numbers("Cd")[4] == 1);
}

TEST(point_attributes_and_groups_of_a_source_come_out_on_the_surface) {
    Scene scene;
    StubInput pool([](GU_Detail &d, double) {
        add_box(d, box(0, 0, 0, 0.16, 0.2, 0.2), "pool");
        d.addFloatTuple(GA_ATTRIB_POINT, "viscosity", 1);
        d.addFloatTuple(GA_ATTRIB_POINT, "Cd", 3);
        d.addTuple(GA_STORE_INT32, GA_ATTRIB_POINT, "take", 1);
        GA_RWHandleF viscosity(&d, GA_ATTRIB_POINT, "viscosity");
        GA_RWHandleV3 colour(&d, GA_ATTRIB_POINT, "Cd");
        GA_RWHandleF take(&d, GA_ATTRIB_POINT, "take");
        GA_PointGroup *right = d.newPointGroup("right");
        for (GA_Offset p = 0; p < 8; ++p) {
            const bool far = d.getPos3(p)[0] > 0.1f;
            viscosity.set(p, far ? 2.0f : 50.0f);
            colour.set(p, UT_Vector3(1, far ? 1.0f : 0.0f, 0));
            take.set(p, 3);
            if (far) right->addOffset(p);
        }
    });
    scene.sop->stub_inputs[0] = &pool;
    if (scene.cook(2) != UT_ERROR_NONE) test::fail(__FILE__, __LINE__, scene.told());
    GU_Detail &out = scene.sop->stub_detail;
    const auto *viscosity = out.find(GA_ATTRIB_POINT, "viscosity"), *colour = out.find(GA_ATTRIB_POINT, "Cd"), *take = out.find(GA_ATTRIB_POINT, "take");
    const GA_PointGroup *right = out.findPointGroup("right");
    CHECK(viscosity && colour && take && right);
    CHECK(colour->size == 3 && colour->type == GA_TYPE_VECTOR);
    for (std::size_t i = 0; i < out.positions.size(); ++i) {
        const double mu = viscosity->numbers[i];
        CHECK(mu > 1.9 && mu < 50.1 && std::abs(colour->numbers[3 * i] - 1) < 1e-5 && std::abs(take->numbers[i] - 3) < 1e-5);
        if (out.positions[i][0] < 0.03f) CHECK(mu > 20 && colour->numbers[3 * i + 1] < 0.4 && !right->containsOffset(GA_Offset(i)));
        if (out.positions[i][0] > 0.14f) CHECK(mu < 20 && colour->numbers[3 * i + 1] > 0.6 && right->containsOffset(GA_Offset(i)));
    }
    // The panel says which.
    scene.sop->stub_parms["carry"].word = "* ^Cd ^group_*";
    if (scene.cook(2) != UT_ERROR_NONE) test::fail(__FILE__, __LINE__, scene.told());
    CHECK(out.find(GA_ATTRIB_POINT, "take") && !out.find(GA_ATTRIB_POINT, "Cd") && !out.findPointGroup("right"));
}

TEST(friction_on_points_is_painted_and_on_primitives_is_that_of_the_piece) {
    GU_Detail detail;
    add_box(detail, box(0, 0, 0, 1, 1, 1), "floor");
    detail.addFloatTuple(GA_ATTRIB_POINT, "friction", 1);
    detail.addFloatTuple(GA_ATTRIB_POINT, "heat", 1);
    GA_RWHandleF friction(&detail, GA_ATTRIB_POINT, "friction");
    for (GA_Offset p = 0; p < 8; ++p) friction.set(p, float(p) / 8);
    const Object painted = read_pieces(detail, "collider", Of::Collider).at(0);
    CHECK_EQ(painted.mesh.attributes.size(), 1u);
    CHECK(painted.own.count("friction") == 0 && painted.mesh.attributes[0].name == "friction" && painted.mesh.attributes[0].floats.size() == 8u);
    detail.addFloatTuple(GA_ATTRIB_PRIMITIVE, "friction", 1);
    const Object whole = read_pieces(detail, "collider", Of::Collider).at(0);
    CHECK_EQ(whole.own.count("friction"), 1u);
}

TEST(pieces_may_share_points) {
    GU_Detail detail;
    add_box(detail, box(0, 0, 0, 1, 1, 1), "a");
    const int corners[8] = {2, 6, 4, 0, 4, 5, 1, 0};
    GEO_PolyCounts sizes;
    sizes.append(4, 2);
    const GA_Offset first = GU_PrimPoly::buildBlock(&detail, 0, 8, sizes, corners);
    GA_RWHandleS names(&detail, GA_ATTRIB_PRIMITIVE, "name");
    names.set(first, "b");
    names.set(first + 1, "b");
    const auto pieces = read_pieces(detail, "source", Of::Source);
    CHECK_EQ(pieces.size(), 2u);
    CHECK_EQ(pieces[0].mesh.points.size(), 24u);
    CHECK_EQ(pieces[1].mesh.points.size(), 18u);
    CHECK_EQ(pieces[1].mesh.triangles.size(), 12u);
    for (const Object &piece : pieces)
        for (uint32_t corner : piece.mesh.triangles) CHECK(3 * corner < piece.mesh.points.size());
}

TEST(attributes_go_before_the_panel) {
    Scene scene;
    StubInput tap([](GU_Detail &d, double) {
        add_box(d, box(0.16, 0.22, 0.06, 0.24, 0.28, 0.14), "tap");
        d.addStringTuple(GA_ATTRIB_PRIMITIVE, "source_mode", 1);
        GA_RWHandleS mode(&d, GA_ATTRIB_PRIMITIVE, "source_mode");
        for (GA_Offset p = 0; p < 6; ++p) mode.set(p, "emit");
        d.addFloatTuple(GA_ATTRIB_POINT, "v", 3);
        GA_RWHandleV3 v(&d, GA_ATTRIB_POINT, "v");
        for (GA_Offset p = 0; p < 8; ++p) v.set(p, UT_Vector3(0, -1, 0));
    });
    scene.sop->stub_inputs[0] = &tap;
    CHECK_EQ(scene.cook(4), UT_ERROR_NONE);
    const double early = scene.detail("sim_volume");
    CHECK_EQ(scene.cook(8), UT_ERROR_NONE);
    CHECK(scene.detail("sim_volume") > 1.2 * early);
}

TEST(escape_stops_a_cook_and_shows_the_last_whole_frame) {
    Scene scene;
    CHECK_EQ(scene.cook(2), UT_ERROR_NONE);
    UT_AutoInterrupt::stub_escape = [](int) { return true; };
    CHECK_EQ(scene.cook(9), UT_ERROR_MESSAGE);
    UT_AutoInterrupt::stub_escape = nullptr;
    CHECK(scene.told().find("stopped") != std::string::npos);
    CHECK(scene.sop->stub_detail.getNumPoints() > 100);
    CHECK_EQ(scene.cook(9), UT_ERROR_NONE);
}

TEST(reset_and_preset_are_buttons_that_only_set_parameters) {
    Scene scene;
    auto &callbacks = PRM_TemplateBuilder::stub_callbacks;
    CHECK_EQ(callbacks.size(), 3u);
    scene.set("preset", 11);
    callbacks.at("preset")(scene.sop.get(), 0, 0, nullptr);
    CHECK_EQ(scene.sop->evalFloat("viscosity", 0, 0), 23.0);
    CHECK_EQ(scene.sop->evalFloat("density", 0, 0), 1420.0);
    CHECK_EQ(scene.cook(2), UT_ERROR_NONE);
    callbacks.at("reset")(scene.sop.get(), 0, 0, nullptr);
    CHECK_EQ(scene.sop->evalInt("resets", 0, 0), 1);
    CHECK_EQ(scene.cook(2), UT_ERROR_NONE);
}

TEST(the_scene_is_exported_by_its_button) {
    Scene scene;
    const auto folder = std::filesystem::temp_directory_path() / "meniscus_houdini_export";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    scene.sop->stub_parms["export_file"].word = (folder / "shot.json").string();
    scene.set("end_frame", 4);
    PRM_TemplateBuilder::stub_callbacks.at("export")(scene.sop.get(), 0, 0, nullptr);
    CHECK_EQ(scene.sop->stub_recooks, 1);
    scene.cook(1);
    CHECK(scene.told().find("meniscus run") != std::string::npos);
    CHECK(std::filesystem::exists(folder / "shot.json"));
    std::filesystem::remove_all(folder);
}

TEST(particles_and_the_domain_can_be_shown) {
    Scene scene;
    scene.set("output", 2);
    scene.set("output_bounds", 1);
    CHECK_EQ(scene.cook(2), UT_ERROR_NONE);
    const GU_Detail &out = scene.sop->stub_detail;
    CHECK(out.find(GA_ATTRIB_POINT, "id") && out.find(GA_ATTRIB_POINT, "pscale"));
    CHECK_EQ(out.primitives.back()->points.size(), 2u);
}

TEST(a_mistake_is_shown_on_the_node) {
    Scene scene;
    scene.set("flip_blend", 7);
    CHECK_EQ(scene.cook(1), UT_ERROR_ABORT);
    CHECK(scene.told().find("flip_blend") != std::string::npos);
}

} // namespace
