// The grid of the liquid as Houdini's volumes, and Houdini's volumes as fields. The grids are built by the OpenVDB that comes with Houdini, from flat arrays:
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

/// Values of a grid over the box of its active voxels, one sample in the middle of each. What lies inside a level set but
/// beyond its band has the background, negative.
template <class Grid, class Values> Field dense(const Grid &grid, int width, const Values &values) {
    Field field;
    field.width = width;
    const openvdb::CoordBBox box = grid.evalActiveVoxelBoundingBox();
    if (box.empty()) return field;
    const openvdb::Coord low = box.min(), high = box.max();
    const openvdb::Vec3d first = grid.indexToWorld(low);
    for (int a = 0; a < 3; ++a) {
        field.counts[std::size_t(a)] = uint64_t(high[a] - low[a]) + 1;
        field.origin[std::size_t(a)] = first[a];
        const openvdb::Vec3d next = grid.indexToWorld(low.offsetBy(a == 0, a == 1, a == 2));
        for (int c = 0; c < 3; ++c) field.steps[std::size_t(3 * a + c)] = next[c] - first[c];
    }
    field.values.reserve(std::size_t(field.counts[0] * field.counts[1] * field.counts[2]) * std::size_t(width));
    for (int k = low[2]; k <= high[2]; ++k)
        for (int j = low[1]; j <= high[1]; ++j)
            for (int i = low[0]; i <= high[0]; ++i) values(openvdb::Coord(i, j, k), field.values);
    return field;
}

} // namespace

std::vector<Field> read_fields(const GU_Detail &detail) {
    std::vector<Field> fields;
    for (GA_Offset prim : detail.getPrimitiveRange()) {
        if (detail.getGEOPrimitive(prim)->getTypeId() != GA_PRIMVDB) continue;
        const GEO_PrimVDB *vdb = dynamic_cast<const GEO_PrimVDB *>(detail.getGEOPrimitive(prim));
        if (!vdb) continue;
        const openvdb::GridBase &base = vdb->getConstGrid();
        Field field;
        if (const auto *numbers = dynamic_cast<const openvdb::FloatGrid *>(&base)) {
            const auto at = numbers->getConstAccessor();
            field = dense(*numbers, 1, [&](const openvdb::Coord &c, std::vector<float> &out) { out.push_back(at.getValue(c)); });
        } else if (const auto *vectors = dynamic_cast<const openvdb::Vec3SGrid *>(&base)) {
            const auto at = vectors->getConstAccessor();
            // A staggered grid has its values on the lower faces: the mean of two is in the middle.
            const bool faces = vectors->getGridClass() == openvdb::GRID_STAGGERED;
            field = dense(*vectors, 3, [&](const openvdb::Coord &c, std::vector<float> &out) {
                const openvdb::Vec3s here = at.getValue(c);
                for (int a = 0; a < 3; ++a)
                    out.push_back(faces ? 0.5f * (here[a] + at.getValue(c.offsetBy(a == 0, a == 1, a == 2))[a]) : here[a]);
            });
        }
        // One of another type comes without numbers and is named in a message.
        field.name = vdb->getGridName();
        fields.push_back(std::move(field));
    }
    return fields;
}

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
