// The grid of the liquid as Houdini's volumes. The grids are built by the OpenVDB that comes with Houdini, from flat arrays:
// one that another build of OpenVDB made must never be handed over.
#include "geometry.h"

#include <GU/GU_PrimVDB.h>
#include <openvdb/openvdb.h>

#include <algorithm>

using namespace meniscus::node;

namespace {

/// Half the width of the band of a level set, in voxels, as Houdini expects it.
constexpr float Band = 3;

template <class Grid> void place(Grid &grid, const Volumes &volumes, const char *name) {
    auto transform = openvdb::math::Transform::createLinearTransform(volumes.cell);
    transform->postTranslate(openvdb::Vec3d(volumes.origin[0], volumes.origin[1], volumes.origin[2]));
    grid.setTransform(transform);
    grid.setName(name);
}

openvdb::Coord cell(const Volumes &volumes, std::size_t i) {
    return openvdb::Coord(volumes.cells[3 * i], volumes.cells[3 * i + 1], volumes.cells[3 * i + 2]);
}

} // namespace

void append_volumes(GU_Detail &detail, const Frame &frame, bool velocity) {
    const Volumes &volumes = frame.volumes;
    if (volumes.count() == 0) return;
    const float band = Band * static_cast<float>(volumes.cell);
    openvdb::FloatGrid::Ptr surface = openvdb::FloatGrid::create(band);
    place(*surface, volumes, "surface");
    surface->setGridClass(openvdb::GRID_LEVEL_SET);
    // Cells come tile by tile, so the accessor stays in one leaf for hundreds of them.
    auto distances = surface->getAccessor();
    for (std::size_t i = 0; i < volumes.count(); ++i) {
        const float d = volumes.distance[i];
        if (d < band && d > -band)
            distances.setValue(cell(volumes, i), d);
        else
            distances.setValueOff(cell(volumes, i), std::clamp(d, -band, band));
    }
    GU_PrimVDB::buildFromGrid(detail, surface, nullptr, "surface");
    if (!velocity) return;
    openvdb::Vec3SGrid::Ptr vel = openvdb::Vec3SGrid::create(openvdb::Vec3s(0, 0, 0));
    place(*vel, volumes, "vel");
    // The lower faces of a cell are where a staggered grid of OpenVDB has its values.
    vel->setGridClass(openvdb::GRID_STAGGERED);
    auto values = vel->getAccessor();
    for (std::size_t i = 0; i < volumes.count(); ++i) {
        const float *v = &volumes.velocity[3 * i];
        values.setValue(cell(volumes, i), openvdb::Vec3s(v[0], v[1], v[2]));
    }
    GU_PrimVDB::buildFromGrid(detail, vel, nullptr, "vel");
}
