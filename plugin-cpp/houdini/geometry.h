// Between Houdini's details and the node's flat arrays. Houdini's polygons turn clockwise seen from outside, Meniscus's
// counter-clockwise.
#ifndef MENISCUS_HOUDINI_GEOMETRY_H
#define MENISCUS_HOUDINI_GEOMETRY_H

#include "../node/node.hpp"

#include <GU/GU_Detail.h>

/// The pieces of a detail by the primitive attribute `name`, or one piece called `fallback`. Attributes of the table that
/// are on points, primitives or the detail become the pieces' own values.
std::vector<meniscus::node::Object> read_pieces(const GU_Detail &detail, const char *fallback, meniscus::node::Of of);
/// Points as forces, by the attributes force (uniform, point, vortex), strength, radius, axis.
std::vector<meniscus::node::Force> read_forces(const GU_Detail &detail);
/// VDBs as fields, by their names: dense over the box of their active voxels.
std::vector<meniscus::node::Field> read_fields(const GU_Detail &detail);
/// Append a mesh; `after` seconds along its velocities.
void append_surface(GU_Detail &detail, const meniscus::node::Frame &frame, double after, bool velocity);
void append_particles(GU_Detail &detail, const meniscus::node::Frame &frame, double after, bool velocity);
/// The volumes `surface` and, if asked for, `vel`.
void append_volumes(GU_Detail &detail, const meniscus::node::Frame &frame, bool velocity);
/// One packed primitive for each floating body.
void append_bodies(GU_Detail &detail, const meniscus::node::Frame &frame, const std::map<std::string, meniscus::node::Mesh> &meshes);
/// The edges of the domain.
void append_box(GU_Detail &detail, const double *low, const double *high);
/// sim_volume, sim_substeps and the others.
void set_details(GU_Detail &detail, const meniscus::node::Frame &frame);

#endif
