// OpenVDB's side of src/io/vdb: tiles of eight cells a side become leaves, meshes become level sets.
#include "meniscus/src/io/vdb/bridge.rs.h"

#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/MeshToVolume.h>
#include <openvdb/tools/Prune.h>
#include <openvdb/tools/VolumeToMesh.h>
#include <tbb/global_control.h>

namespace meniscus {

namespace {

/// OpenVDB takes no more threads than the simulation was granted.
tbb::global_control granted(std::uint32_t threads) {
    return tbb::global_control(tbb::global_control::max_allowed_parallelism, std::max<std::uint32_t>(threads, 1));
}

/// Voxel (i,j,k) has its centre at origin + voxel · (i+½, j+½, k+½).
openvdb::math::Transform::Ptr centred(const Layout& layout) {
    auto transform = openvdb::math::Transform::createLinearTransform(layout.voxel);
    const openvdb::Vec3d origin(layout.origin[0], layout.origin[1], layout.origin[2]);
    transform->postTranslate(origin + openvdb::Vec3d(0.5 * layout.voxel));
    return transform;
}

/// Fill the leaves of a tree from tiles; `at` makes the value at a place of the flat arrays.
template <typename Tree, typename At>
void fill(Tree& tree, const Layout& layout, rust::Slice<const std::uint8_t> active, At at) {
    constexpr int side = 8;
    const std::size_t tiles = layout.tiles.size() / 3;
    const std::size_t volume = std::size_t(side) * side * layout.depth;
    if (active.size() != tiles * volume) {
        throw std::invalid_argument("a field has another length than its tiles");
    }
    for (std::size_t t = 0; t < tiles; ++t) {
        const openvdb::Coord base(layout.tiles[3 * t], layout.tiles[3 * t + 1], layout.tiles[3 * t + 2]);
        typename Tree::LeafNodeType* leaf = nullptr;
        for (std::size_t l = 0; l < volume; ++l) {
            const openvdb::Coord cell = base.offsetBy(l % side, l / side % side, l / (side * side));
            const std::size_t place = t * volume + l;
            // Bit 0: the voxel is active. Bit 1: its value counts although it is not.
            if (active[place] == 0) {
                continue;
            }
            if (!leaf || (cell & ~(side - 1)) != leaf->origin()) {
                leaf = tree.touchLeaf(cell);
            }
            if (active[place] & 1) {
                leaf->setValueOn(cell, at(place));
            } else {
                leaf->setValueOff(cell, at(place));
            }
        }
    }
}

template <typename GridType> typename GridType::Ptr empty(rust::Str name, const Layout& layout, typename GridType::ValueType background) {
    auto grid = GridType::create(background);
    grid->setName(std::string(name));
    grid->setCreator("Meniscus");
    grid->setTransform(centred(layout));
    return grid;
}

} // namespace

std::unique_ptr<Grids> new_grids(std::uint32_t threads) {
    openvdb::initialize();
    return std::make_unique<Grids>(threads);
}

void Grids::add_surface(rust::Str name, rust::Slice<const float> points, rust::Slice<const std::uint32_t> triangles, const Layout& layout) {
    const auto limit = granted(threads_);
    const auto transform = centred(layout);
    std::vector<openvdb::Vec3s> at(points.size() / 3);
    for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = openvdb::Vec3s(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
    }
    std::vector<openvdb::Vec3I> corners(triangles.size() / 3);
    for (std::size_t i = 0; i < corners.size(); ++i) {
        corners[i] = openvdb::Vec3I(triangles[3 * i], triangles[3 * i + 1], triangles[3 * i + 2]);
    }
    openvdb::FloatGrid::Ptr grid;
    if (corners.empty()) {
        // A frame without liquid: everything is outside.
        grid = openvdb::FloatGrid::create(layout.background);
        grid->setTransform(transform);
        grid->setGridClass(openvdb::GRID_LEVEL_SET);
    } else {
        grid = openvdb::tools::meshToLevelSet<openvdb::FloatGrid>(*transform, at, corners, float(layout.background / layout.voxel));
    }
    grid->setName(std::string(name));
    grid->setCreator("Meniscus");
    grids_.push_back(grid);
}

void Grids::add_scalar(rust::Str name, const Layout& layout, rust::Slice<const float> values, rust::Slice<const std::uint8_t> active) {
    const auto limit = granted(threads_);
    auto grid = empty<openvdb::FloatGrid>(name, layout, layout.background);
    if (values.size() != active.size()) {
        throw std::invalid_argument("a field has another length than its mask");
    }
    fill(grid->tree(), layout, active, [&](std::size_t place) { return values[place]; });
    if (layout.level_set) {
        grid->setGridClass(openvdb::GRID_LEVEL_SET);
        openvdb::tools::pruneLevelSet(grid->tree());
    } else {
        openvdb::tools::prune(grid->tree());
    }
    grids_.push_back(grid);
}

void Grids::add_staggered(rust::Str name, const Layout& layout, rust::Slice<const float> values, rust::Slice<const std::uint8_t> active) {
    const auto limit = granted(threads_);
    auto grid = empty<openvdb::Vec3SGrid>(name, layout, openvdb::Vec3s(0.0f));
    if (values.size() != 3 * active.size()) {
        throw std::invalid_argument("a field has another length than its mask");
    }
    // OpenVDB keeps a staggered vector as we do: each component on the lower face of its voxel.
    fill(grid->tree(), layout, active, [&](std::size_t place) {
        return openvdb::Vec3s(values[3 * place], values[3 * place + 1], values[3 * place + 2]);
    });
    grid->setGridClass(openvdb::GRID_STAGGERED);
    grid->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
    openvdb::tools::prune(grid->tree());
    grids_.push_back(grid);
}

void Grids::write(rust::Str path) const {
    const auto limit = granted(threads_);
    openvdb::io::File file{std::string(path)};
    openvdb::MetaMap about;
    about.insertMeta("creator", openvdb::StringMetadata("Meniscus"));
    file.write(grids_, about);
    file.close();
}

Liquid read_liquid(rust::Str path, std::uint32_t threads) {
    openvdb::initialize();
    const auto limit = granted(threads);
    openvdb::io::File file{std::string(path)};
    // Damaged files are found here and not when a leaf is first touched.
    file.open(false);
    openvdb::FloatGrid::Ptr surface;
    openvdb::Vec3SGrid::Ptr velocity;
    const auto grids = file.getGrids();
    for (const auto& grid : *grids) {
        const bool level_set = grid->getGridClass() == openvdb::GRID_LEVEL_SET;
        if (!surface && level_set && grid->getName() != "collision") {
            surface = openvdb::gridPtrCast<openvdb::FloatGrid>(grid);
        }
        if (!velocity && grid->getName() == "vel") {
            velocity = openvdb::gridPtrCast<openvdb::Vec3SGrid>(grid);
        }
    }
    if (!surface) {
        throw std::runtime_error("there is no level set of 32-bit numbers in it");
    }
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec4I> quads;
    openvdb::tools::volumeToMesh(*surface, points, quads);
    Liquid liquid;
    for (const auto& p : points) {
        for (int a = 0; a < 3; ++a) {
            liquid.points.push_back(p[a]);
        }
        if (velocity) {
            const auto at = velocity->worldToIndex(openvdb::Vec3d(p));
            const bool staggered = velocity->getGridClass() == openvdb::GRID_STAGGERED;
            const openvdb::Vec3s v = staggered ? openvdb::tools::StaggeredBoxSampler::sample(velocity->tree(), at)
                                               : openvdb::tools::BoxSampler::sample(velocity->tree(), at);
            for (int a = 0; a < 3; ++a) {
                liquid.velocity.push_back(v[a]);
            }
        }
    }
    // OpenVDB's quads run clockwise seen from outside.
    for (const auto& q : quads) {
        for (int corner : {0, 2, 1, 0, 3, 2}) {
            liquid.triangles.push_back(q[corner]);
        }
    }
    return liquid;
}

} // namespace meniscus
