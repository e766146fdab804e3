#include "geometry.h"

#include <GA/GA_AttributeDict.h>
#include <GA/GA_ElementGroup.h>
#include <GA/GA_Handle.h>
#include <GEO/GEO_PolyCounts.h>
#include <GU/GU_DetailHandle.h>
#include <GU/GU_PackedGeometry.h>
#include <GU/GU_PrimPacked.h>
#include <GU/GU_PrimPoly.h>
#include <UT/UT_Matrix3.h>
#include <UT/UT_Vector3.h>

#include <cstring>
#include <set>

using namespace meniscus::node;

/// Groups are carried under this name.
static const std::string group_prefix = "group_";

static_assert(sizeof(UT_Vector3) == 3 * sizeof(float), "points are handed over as blocks");

namespace {

/// Whether values on points are painted: handed over point by point.
bool is_painted(const Row &row) {
    return (row.of == Of::Source && std::strcmp(row.attribute, "viscosity") == 0) || (row.of == Of::Collider && std::strcmp(row.attribute, "friction") == 0);
}

/// A number of the table from the first place that has it: primitive (the first), point (averaged), detail.
bool own_number(const GU_Detail &detail, const Row &row, GA_Offset prim, const std::vector<GA_Offset> &points, Value &value) {
    if (row.width() == 3) {
        const GA_ROHandleV3 on_points(&detail, GA_ATTRIB_POINT, row.attribute);
        if (on_points.isValid() && !points.empty()) {
            for (GA_Offset p : points)
                for (int a = 0; a < 3; ++a) value.x[a] += double(on_points.get(p)[a]) / double(points.size());
            return true;
        }
        const GA_ROHandleV3 on_detail(&detail, GA_ATTRIB_DETAIL, row.attribute);
        for (int a = 0; on_detail.isValid() && a < 3; ++a) value.x[a] = on_detail.get(GA_Offset(0))[a];
        return on_detail.isValid();
    }
    const GA_ROHandleF on_points(&detail, GA_ATTRIB_POINT, row.attribute);
    const GA_ROHandleF on_prims(&detail, GA_ATTRIB_PRIMITIVE, row.attribute);
    const GA_ROHandleF on_detail(&detail, GA_ATTRIB_DETAIL, row.attribute);
    if (on_prims.isValid()) {
        value.x[0] = on_prims.get(prim);
    } else if (on_points.isValid() && !points.empty()) {
        if (is_painted(row)) return false;
        for (GA_Offset p : points) value.x[0] += double(on_points.get(p)) / double(points.size());
    } else if (on_detail.isValid()) {
        value.x[0] = on_detail.get(GA_Offset(0));
    }
    return on_prims.isValid() || on_points.isValid() || on_detail.isValid();
}

bool own_word(const GU_Detail &detail, const Row &row, GA_Offset prim, Value &value) {
    const GA_ROHandleS on_prims(&detail, GA_ATTRIB_PRIMITIVE, row.attribute);
    const GA_ROHandleS on_detail(&detail, GA_ATTRIB_DETAIL, row.attribute);
    if (on_prims.isValid())
        value.text = on_prims.get(prim).c_str();
    else if (on_detail.isValid())
        value.text = on_detail.get(GA_Offset(0)).c_str();
    // A word that the menu does not have is an empty attribute or somebody else's.
    for (const char *const *item = row.items; item && *item; ++item)
        if (value.text == *item) return true;
    return false;
}

/// What the points of a piece carry, by the names of the detail's numbers; groups are 1 for members, 0 for others, and called
/// group_NAME.
std::vector<Attribute> carried(const GU_Detail &detail, const std::vector<GA_Offset> &points, const char *only) {
    std::vector<Attribute> all;
    const GA_AttributeDict &given = detail.getAttributeDict(GA_ATTRIB_POINT);
    for (GA_AttributeDict::iterator it = given.begin(GA_SCOPE_PUBLIC); !it.atEnd(); ++it) {
        const GA_Attribute *attribute = it.attrib();
        const GA_StorageClass kind = attribute->getStorageClass();
        const int width = attribute->getTupleSize();
        const GA_ROHandleF values(attribute);
        if ((kind != GA_STORECLASS_FLOAT && kind != GA_STORECLASS_INT) || width < 1 || width > 4 || !values.isValid()) continue;
        Attribute one;
        one.name = attribute->getName().c_str();
        one.width = width;
        if (one.name == "P" || one.name == "v" || (only && one.name != only)) continue;
        one.floats.reserve(points.size() * std::size_t(width));
        for (GA_Offset p : points)
            for (int c = 0; c < width; ++c) one.floats.push_back(values.get(p, c));
        all.push_back(std::move(one));
    }
    if (only) return all;
    for (GA_GroupTable::iterator<GA_PointGroup> it = detail.pointGroups().beginTraverse(); !it.atEnd(); ++it) {
        const GA_PointGroup *group = it.group();
        if (group->isInternal()) continue;
        Attribute one;
        one.name = group_prefix + group->getName().c_str();
        for (GA_Offset p : points) one.floats.push_back(group->containsOffset(p) ? 1.0f : 0.0f);
        all.push_back(std::move(one));
    }
    return all;
}

/// A piece while it is being read.
struct Piece {
    Object object;
    std::vector<GA_Offset> points;
    GA_Offset prim = 0;
};

/// Where a point of the detail stands in the piece that used it last. Most details have one piece, or pieces one after
/// another; where pieces share points, `others` remembers the rest.
class Places {
public:
    explicit Places(GA_Size points) : first_(std::size_t(points), {none, 0}) {}
    /// The number of a point in a piece; `next` if it is new there.
    uint32_t of(GA_Offset point, uint32_t piece, uint32_t next) {
        const std::size_t at = std::size_t(point);
        if (at >= first_.size()) first_.resize(at + 1, {none, 0});
        if (first_[at].piece == piece) return first_[at].index;
        if (first_[at].piece == none) {
            first_[at] = {piece, next};
            return next;
        }
        return others_.emplace(std::make_pair(piece, point), next).first->second;
    }

private:
    static constexpr uint32_t none = ~uint32_t(0);
    struct Place {
        uint32_t piece, index;
    };
    std::vector<Place> first_;
    std::map<std::pair<uint32_t, GA_Offset>, uint32_t> others_;
};

const std::vector<float> &moved(const std::vector<float> &points, const std::vector<float> &velocities, double after, std::vector<float> &room) {
    if (after == 0 || velocities.size() != points.size()) return points;
    room.resize(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) room[i] = points[i] + static_cast<float>(after) * velocities[i];
    return room;
}

void set_block(GU_Detail &detail, const char *name, GA_Offset start, const std::vector<float> &values) {
    GA_RWHandleV3 handle(&detail, GA_ATTRIB_POINT, name);
    if (!handle.isValid()) {
        detail.addFloatTuple(GA_ATTRIB_POINT, name, 3)->setTypeInfo(GA_TYPE_VECTOR);
        handle.bind(&detail, GA_ATTRIB_POINT, name);
    }
    handle.setBlock(start, GA_Size(values.size() / 3), reinterpret_cast<const UT_Vector3 *>(values.data()));
}

/// An attribute of any name: three floats are a vector; a group of points is one again, where most of the liquid belongs to it.
void set_attribute(GU_Detail &detail, GA_Offset start, const Attribute &attribute) {
    const std::size_t width = std::size_t(attribute.width < 1 ? 1 : attribute.width);
    if (attribute.name.compare(0, group_prefix.size(), group_prefix) == 0 && width == 1) {
        const std::string name = attribute.name.substr(group_prefix.size());
        GA_PointGroup *group = detail.findPointGroup(name.c_str());
        if (!group) group = detail.newPointGroup(name.c_str());
        for (std::size_t i = 0; i < attribute.floats.size(); ++i)
            if (attribute.floats[i] > 0.5f) group->addOffset(start + GA_Offset(i));
        return;
    }
    if (width == 3 && !attribute.floats.empty()) return set_block(detail, attribute.name.c_str(), start, attribute.floats);
    const char *name = attribute.name.c_str();
    if (!attribute.floats.empty()) {
        if (!GA_RWHandleF(&detail, GA_ATTRIB_POINT, name).isValid()) detail.addFloatTuple(GA_ATTRIB_POINT, name, int(width));
        GA_RWHandleF values(&detail, GA_ATTRIB_POINT, name);
        if (width == 1) return values.setBlock(start, GA_Size(attribute.floats.size()), attribute.floats.data());
        for (std::size_t i = 0; i < attribute.floats.size(); ++i) values.set(start + GA_Offset(i / width), int(i % width), attribute.floats[i]);
    } else if (!attribute.integers.empty()) {
        if (!GA_RWHandleID(&detail, GA_ATTRIB_POINT, name).isValid()) detail.addTuple(GA_STORE_INT64, GA_ATTRIB_POINT, name, int(width));
        GA_RWHandleID values(&detail, GA_ATTRIB_POINT, name);
        if (width == 1) return values.setBlock(start, GA_Size(attribute.integers.size()), attribute.integers.data());
        for (std::size_t i = 0; i < attribute.integers.size(); ++i) values.set(start + GA_Offset(i / width), int(i % width), attribute.integers[i]);
    }
}

} // namespace

std::vector<Object> read_pieces(const GU_Detail &detail, const char *fallback, Of of) {
    const GA_ROHandleS names(&detail, GA_ATTRIB_PRIMITIVE, "name");
    const GA_ROHandleV3 velocity(&detail, GA_ATTRIB_POINT, "v");
    std::vector<Piece> pieces;
    std::map<std::string, std::size_t> known;
    Places places(detail.getNumPoints());
    std::vector<uint32_t> corners;
    std::size_t last = 0;
    for (GA_Offset prim : detail.getPrimitiveRange()) {
        if (detail.getGEOPrimitive(prim)->getTypeId() != GA_PRIMPOLY) continue;
        const UT_StringHolder given = names.isValid() ? names.get(prim) : UT_StringHolder();
        const char *name = given.c_str()[0] ? given.c_str() : fallback;
        // Primitives of a piece mostly follow one another.
        if (pieces.empty() || pieces[last].object.name != name) {
            const auto found = known.emplace(name, pieces.size());
            last = found.first->second;
            if (found.second) {
                pieces.emplace_back();
                pieces.back().object.name = name;
                pieces.back().prim = prim;
                // One piece is all of it.
                Mesh &mesh = pieces.back().object.mesh;
                if (!names.isValid()) {
                    mesh.points.reserve(3 * std::size_t(detail.getNumPoints()));
                    mesh.triangles.reserve(3 * std::size_t(detail.getNumPrimitives()));
                    pieces.back().points.reserve(std::size_t(detail.getNumPoints()));
                }
            }
        }
        Piece &piece = pieces[last];
        Mesh &mesh = piece.object.mesh;
        corners.clear();
        const GA_Size count = detail.getPrimitiveVertexCount(prim);
        for (GA_Size v = count; v-- > 0;) {
            const GA_Offset point = detail.vertexPoint(detail.getPrimitiveVertexOffset(prim, v));
            const auto next = static_cast<uint32_t>(piece.points.size());
            const uint32_t at = places.of(point, static_cast<uint32_t>(last), next);
            if (at == next) {
                piece.points.push_back(point);
                const UT_Vector3 p = detail.getPos3(point);
                mesh.points.insert(mesh.points.end(), {p.x(), p.y(), p.z()});
                if (velocity.isValid()) {
                    const UT_Vector3 u = velocity.get(point);
                    mesh.velocities.insert(mesh.velocities.end(), {u.x(), u.y(), u.z()});
                }
            }
            corners.push_back(at);
        }
        mesh.add_polygon(corners.data(), corners.size());
    }
    std::vector<Object> objects;
    for (Piece &piece : pieces) {
        for (const Row &row : rows) {
            Value value;
            if (row.of != of || !row.attribute[0]) continue;
            const bool own = row.is_text() ? own_word(detail, row, piece.prim, value)
                                           : own_number(detail, row, piece.prim, piece.points, value);
            if (own) piece.object.own[row.name] = value;
        }
        if (of == Of::Source) {
            const GA_ROHandleF on_prims(&detail, GA_ATTRIB_PRIMITIVE, "density"), on_detail(&detail, GA_ATTRIB_DETAIL, "density");
            // It does not act; the node says so.
            if (on_prims.isValid() || on_detail.isValid())
                piece.object.own["density"] = Value(double(on_prims.isValid() ? on_prims.get(piece.prim) : on_detail.get(GA_Offset(0))));
        }
        // What nobody can paint on is not read.
        if (of != Of::Body) piece.object.mesh.attributes = carried(detail, piece.points, of == Of::Collider ? "friction" : nullptr);
        objects.push_back(std::move(piece.object));
    }
    return objects;
}

std::vector<Force> read_forces(const GU_Detail &detail) {
    std::vector<Force> forces;
    const GA_ROHandleS kind(&detail, GA_ATTRIB_POINT, "force");
    const GA_ROHandleF strength(&detail, GA_ATTRIB_POINT, "strength"), radius(&detail, GA_ATTRIB_POINT, "radius");
    const GA_ROHandleV3 axis(&detail, GA_ATTRIB_POINT, "axis");
    if (!strength.isValid() && !axis.isValid()) return forces;
    // A volume hangs on a point that is no force.
    std::set<GA_Offset> volumes;
    for (GA_Offset prim : detail.getPrimitiveRange())
        if (detail.getGEOPrimitive(prim)->getTypeId() == GA_PRIMVDB) volumes.insert(detail.getGEOPrimitive(prim)->getPointOffset(0));
    for (GA_Offset p : detail.getPointRange()) {
        if (volumes.count(p)) continue;
        Force force;
        if (kind.isValid() && kind.get(p).c_str()[0]) force.kind = kind.get(p).c_str();
        const UT_Vector3 at = detail.getPos3(p);
        for (int a = 0; a < 3; ++a) force.center[a] = at[a];
        for (int a = 0; axis.isValid() && a < 3; ++a) force.axis[a] = axis.get(p)[a];
        if (strength.isValid()) force.strength = strength.get(p);
        if (radius.isValid()) force.radius = radius.get(p);
        forces.push_back(force);
    }
    return forces;
}

void append_surface(GU_Detail &detail, const Frame &frame, double after, bool velocity) {
    const GA_Size points = GA_Size(frame.points.size() / 3), triangles = GA_Size(frame.triangles.size() / 3);
    if (points == 0) return;
    std::vector<float> room;
    const GA_Offset start = detail.appendPointBlock(points);
    GA_RWHandleV3 position(detail.getP());
    const auto &at = moved(frame.points, frame.velocities, after, room);
    position.setBlock(start, points, reinterpret_cast<const UT_Vector3 *>(at.data()));
    GEO_PolyCounts sizes;
    sizes.append(3, triangles);
    GU_PrimPoly::buildBlock(&detail, start, points, sizes, reinterpret_cast<const int *>(frame.triangles.data()));
    if (velocity) set_block(detail, "v", start, frame.velocities);
    for (const Attribute &attribute : frame.attributes) set_attribute(detail, start, attribute);
}

void append_particles(GU_Detail &detail, const Frame &frame, double after, bool velocity) {
    const GA_Size points = GA_Size(frame.particle_points.size() / 3);
    if (points == 0) return;
    std::vector<float> room;
    const GA_Offset start = detail.appendPointBlock(points);
    GA_RWHandleV3 position(detail.getP());
    const auto &at = moved(frame.particle_points, frame.particle_velocities, after, room);
    position.setBlock(start, points, reinterpret_cast<const UT_Vector3 *>(at.data()));
    if (velocity) set_block(detail, "v", start, frame.particle_velocities);
    detail.addFloatTuple(GA_ATTRIB_POINT, "pscale", 1);
    GA_RWHandleF radius(&detail, GA_ATTRIB_POINT, "pscale");
    const std::vector<float> radii(std::size_t(points), static_cast<float>(frame.pscale));
    radius.setBlock(start, points, radii.data());
    for (const Attribute &attribute : frame.particle_attributes) set_attribute(detail, start, attribute);
}

void append_bodies(GU_Detail &detail, const Frame &frame, const std::map<std::string, Mesh> &meshes) {
    if (frame.bodies.empty()) return;
    detail.addStringTuple(GA_ATTRIB_PRIMITIVE, "name", 1);
    for (const BodyPose &body : frame.bodies) {
        const auto mesh = meshes.find(body.name);
        if (mesh == meshes.end()) continue;
        Frame shape;
        shape.points = mesh->second.points;
        shape.triangles = mesh->second.triangles;
        // Back to Houdini's sense of turning.
        for (std::size_t t = 0; t + 2 < shape.triangles.size(); t += 3) std::swap(shape.triangles[t + 1], shape.triangles[t + 2]);
        GU_Detail *inside = new GU_Detail;
        append_surface(*inside, shape, 0, false);
        GU_DetailHandle handle;
        handle.allocateAndSet(inside);
        GU_PrimPacked *packed = GU_PackedGeometry::packGeometry(detail, GU_ConstDetailHandle(handle));
        if (!packed) continue;
        const double *p = body.pose, w = p[3], x = p[4], y = p[5], z = p[6], s = p[7];
        // Rows of Houdini's matrices are the images of the axes.
        UT_Matrix3D turn(s * (1 - 2 * (y * y + z * z)), s * 2 * (x * y + w * z), s * 2 * (x * z - w * y),
                         s * 2 * (x * y - w * z), s * (1 - 2 * (x * x + z * z)), s * 2 * (y * z + w * x),
                         s * 2 * (x * z + w * y), s * 2 * (y * z - w * x), s * (1 - 2 * (x * x + y * y)));
        packed->setLocalTransform(turn);
        detail.setPos3(packed->getPointOffset(0), UT_Vector3(float(p[0]), float(p[1]), float(p[2])));
        GA_RWHandleS name(&detail, GA_ATTRIB_PRIMITIVE, "name");
        name.set(packed->getMapOffset(), body.name.c_str());
    }
}

void append_box(GU_Detail &detail, const double *low, const double *high) {
    std::vector<float> points;
    for (int i = 0; i < 8; ++i)
        for (int a = 0; a < 3; ++a) points.push_back(static_cast<float>(i >> a & 1 ? high[a] : low[a]));
    const GA_Offset start = detail.appendPointBlock(8);
    GA_RWHandleV3 position(detail.getP());
    position.setBlock(start, 8, reinterpret_cast<const UT_Vector3 *>(points.data()));
    // Twelve edges as open polygons of two points.
    const int edges[24] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7};
    GEO_PolyCounts sizes;
    sizes.append(2, 12);
    GU_PrimPoly::buildBlock(&detail, start, 8, sizes, edges, false);
}

void set_details(GU_Detail &detail, const Frame &frame) {
    const double error = frame.volume_expected > 0 ? frame.volume / frame.volume_expected - 1 : 0;
    const std::pair<const char *, double> numbers[] = {
        {"sim_volume", frame.volume},           {"sim_volume_error", error},
        {"sim_substeps", double(frame.substeps)}, {"sim_iters", double(frame.iterations)},
        {"sim_time_ms", 1000 * frame.seconds},  {"sim_mem_mb", double(frame.memory_bytes) / 1e6},
        {"sim_max_speed", frame.max_speed},     {"sim_residual", frame.residual},
    };
    for (const auto &number : numbers) {
        detail.addFloatTuple(GA_ATTRIB_DETAIL, number.first, 1);
        GA_RWHandleF handle(&detail, GA_ATTRIB_DETAIL, number.first);
        handle.set(GA_Offset(0), static_cast<float>(number.second));
    }
    std::string all;
    for (const std::string &warning : frame.warnings) all += (all.empty() ? "" : "\n") + warning;
    detail.addStringTuple(GA_ATTRIB_DETAIL, "sim_warnings", 1);
    GA_RWHandleS handle(&detail, GA_ATTRIB_DETAIL, "sim_warnings");
    handle.set(GA_Offset(0), all.c_str());
}
