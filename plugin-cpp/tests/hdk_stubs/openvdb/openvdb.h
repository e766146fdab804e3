// A stand-in for the few calls of OpenVDB that the plug-in makes: values by coordinate, in a map.
#ifndef OPENVDB_STUB_H
#define OPENVDB_STUB_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace openvdb {

enum GridClass { GRID_UNKNOWN, GRID_LEVEL_SET, GRID_FOG_VOLUME, GRID_STAGGERED };

template <class T> struct Vec3 {
    Vec3(T x, T y, T z) : m{x, y, z} {}
    T operator[](int i) const { return m[i]; }
    T m[3];
};
using Vec3s = Vec3<float>;
using Vec3d = Vec3<double>;
using Vec3I = Vec3<uint32_t>;

struct Coord {
    Coord(int32_t x, int32_t y, int32_t z) : at{x, y, z} {}
    int32_t operator[](int i) const { return at[std::size_t(i)]; }
    Coord offsetBy(int32_t x, int32_t y, int32_t z) const { return {at[0] + x, at[1] + y, at[2] + z}; }
    bool operator<(const Coord &o) const { return at < o.at; }
    std::array<int32_t, 3> at;
};

class CoordBBox {
public:
    bool empty() const { return stub_empty; }
    const Coord &min() const { return stub_min; }
    const Coord &max() const { return stub_max; }
    bool stub_empty = true;
    Coord stub_min{0, 0, 0}, stub_max{-1, -1, -1};
};

namespace math {
struct Transform {
    using Ptr = std::shared_ptr<Transform>;
    static Ptr createLinearTransform(double voxel) {
        auto made = std::make_shared<Transform>();
        made->stub_voxel = voxel;
        return made;
    }
    void postTranslate(const Vec3d &by) {
        for (int a = 0; a < 3; ++a) stub_origin[a] += by[a];
    }
    double stub_voxel = 0, stub_origin[3] = {0, 0, 0};
};
} // namespace math

class GridBase {
public:
    using Ptr = std::shared_ptr<GridBase>;
    virtual ~GridBase() = default;
    void setTransform(math::Transform::Ptr t) { stub_transform = t; }
    void setName(const std::string &name) { stub_name = name; }
    void setGridClass(GridClass c) { stub_class = c; }
    GridClass getGridClass() const { return stub_class; }
    Vec3d indexToWorld(const Coord &c) const {
        const math::Transform none, &t = stub_transform ? *stub_transform : none;
        const double h = stub_transform ? t.stub_voxel : 1;
        return {t.stub_origin[0] + h * c[0], t.stub_origin[1] + h * c[1], t.stub_origin[2] + h * c[2]};
    }
    math::Transform::Ptr stub_transform;
    std::string stub_name;
    GridClass stub_class = GRID_UNKNOWN;
};

template <class T> class Grid : public GridBase {
public:
    using Ptr = std::shared_ptr<Grid>;
    explicit Grid(const T &background) : stub_background(background) {}
    static Ptr create(const T &background) { return std::make_shared<Grid>(background); }
    struct Accessor {
        void setValue(const Coord &c, const T &v) { grid.stub_values.insert_or_assign(c, v); }
        Grid &grid;
    };
    Accessor getAccessor() { return {*this}; }
    struct ConstAccessor {
        T getValue(const Coord &c) const {
            const auto found = grid.stub_values.find(c);
            return found == grid.stub_values.end() ? grid.stub_background : found->second;
        }
        const Grid &grid;
    };
    ConstAccessor getConstAccessor() const { return {*this}; }
    CoordBBox evalActiveVoxelBoundingBox() const {
        CoordBBox box;
        for (const auto &one : stub_values)
            for (std::size_t a = 0; a < 3; ++a) {
                if (box.stub_empty || one.first.at[a] < box.stub_min.at[a]) box.stub_min.at[a] = one.first.at[a];
                if (box.stub_empty || one.first.at[a] > box.stub_max.at[a]) box.stub_max.at[a] = one.first.at[a];
                if (a == 2) box.stub_empty = false;
            }
        return box;
    }
    T stub_background;
    std::map<Coord, T> stub_values;
    /// What a level set was made of.
    std::vector<Vec3s> stub_points;
    std::vector<Vec3I> stub_triangles;
};
using FloatGrid = Grid<float>;
using Vec3SGrid = Grid<Vec3s>;

namespace tools {
/// Keeps what it would measure.
template <class G>
typename G::Ptr meshToLevelSet(const math::Transform &transform, const std::vector<Vec3s> &points, const std::vector<Vec3I> &triangles, float band) {
    auto grid = G::create(band * float(transform.stub_voxel));
    grid->setTransform(std::make_shared<math::Transform>(transform));
    grid->setGridClass(GRID_LEVEL_SET);
    grid->stub_points = points;
    grid->stub_triangles = triangles;
    return grid;
}
} // namespace tools

} // namespace openvdb

#endif
