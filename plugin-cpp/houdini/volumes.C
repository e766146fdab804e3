// The grid of the liquid as Houdini's volumes. The grids are built by the OpenVDB that comes with Houdini, from flat arrays:
// one that another build of OpenVDB made must never be handed over.
#include "geometry.h"

#include <GU/GU_PrimVDB.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/MeshToVolume.h>

using namespace meniscus::node;

namespace {

/// Half the width of the band of a level set, in voxels, as Houdini expects it.
constexpr float Band = 3;
/// Voxels of the level set along a cell, as fine as the mesh is.
constexpr double Finer = 2;

openvdb::math::Transform::Ptr transform(double voxel, const double *origin) {
    auto made = openvdb::math::Transform::createLinearTransform(voxel);
    made->postTranslate(openvdb::Vec3d(origin[0], origin[1], origin[2]));
    return made;
}

} // namespace

void append_volumes(GU_Detail &detail, const Frame &frame, bool velocity) {
    const Volumes &volumes = frame.volumes;
    if (volumes.count() == 0) return;
    // Of the mesh, which ends at walls; the distances of the grid go on into them.
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec3I> triangles;
    points.reserve(frame.points.size() / 3);
    triangles.reserve(frame.triangles.size() / 3);
    for (std::size_t i = 0; i + 2 < frame.points.size(); i += 3) points.emplace_back(frame.points[i], frame.points[i + 1], frame.points[i + 2]);
    for (std::size_t t = 0; t + 2 < frame.triangles.size(); t += 3)
        triangles.emplace_back(frame.triangles[t], frame.triangles[t + 1], frame.triangles[t + 2]);
    const auto fine = transform(volumes.cell / Finer, volumes.origin);
    openvdb::FloatGrid::Ptr surface = openvdb::tools::meshToLevelSet<openvdb::FloatGrid>(*fine, points, triangles, Band);
    surface->setName("surface");
    GU_PrimVDB::buildFromGrid(detail, surface, nullptr, "surface");
    if (!velocity) return;
    openvdb::Vec3SGrid::Ptr vel = openvdb::Vec3SGrid::create(openvdb::Vec3s(0, 0, 0));
    vel->setTransform(transform(volumes.cell, volumes.origin));
    vel->setName("vel");
    // The lower faces of a cell are where a staggered grid of OpenVDB has its values.
    vel->setGridClass(openvdb::GRID_STAGGERED);
    // Cells come tile by tile, so the accessor stays in one leaf for hundreds of them.
    auto values = vel->getAccessor();
    for (std::size_t i = 0; i < volumes.count(); ++i) {
        const float *v = &volumes.velocity[3 * i];
        const int32_t *at = &volumes.cells[3 * i];
        values.setValue(openvdb::Coord(at[0], at[1], at[2]), openvdb::Vec3s(v[0], v[1], v[2]));
    }
    GU_PrimVDB::buildFromGrid(detail, vel, nullptr, "vel");
}
