// What a host is to the node: parameters and inputs at any frame, threads, a way to be interrupted. And what the node gives
// back: a frame as flat arrays, and messages.
#ifndef MENISCUS_NODE_HOST_HPP
#define MENISCUS_NODE_HOST_HPP

#include "row.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace meniscus::node {

/// A value of every point by its name: floats, or whole numbers.
struct Attribute {
    std::string name;
    int width = 1;
    std::vector<float> floats;
    std::vector<int64_t> integers;

    bool operator==(const Attribute &o) const {
        return name == o.name && width == o.width && floats == o.floats && integers == o.integers;
    }
    std::size_t bytes() const { return sizeof *this + 4 * floats.size() + 8 * integers.size(); }
};

/// Triangles as flat arrays: x y z of each point, three indices of each triangle counter-clockwise from outside, and
/// perhaps a velocity for each point in scene units a second. Larger polygons are cut by add_polygon. Attributes, as floats,
/// are what liquid of a source takes along (`viscosity` in Pa.s makes it as thick), and the `friction` of a collider.
struct Mesh {
    std::vector<float> points;
    std::vector<uint32_t> triangles;
    std::vector<float> velocities;
    std::vector<Attribute> attributes;

    bool empty() const { return triangles.empty(); }
    /// A polygon as a fan: winding numbers and enclosed volumes stay right whatever its shape.
    void add_polygon(const uint32_t *corners, std::size_t count) {
        for (std::size_t i = 2; i < count; ++i)
            triangles.insert(triangles.end(), {corners[0], corners[i - 1], corners[i]});
    }
};

/// A source, collider or body. `own` has values that go before the panel's, by the names of the table.
struct Object {
    std::string name;
    Mesh mesh;
    std::map<std::string, Value> own;
};

/// A force that stands at a point: kind is "point", "vortex" or "uniform".
struct Force {
    std::string kind = "point";
    double center[3] = {0, 0, 0};
    /// Direction of a vortex, or acceleration of a uniform force.
    double axis[3] = {0, 1, 0};
    double strength = 0;
    double radius = 1;
};

/// A volume of numbers on a lattice, known by its name: `surface` is the distance to liquid that is there from the start,
/// negative inside, `vel` its velocity in units a second, `viscosity` that of liquid that comes in, in Pa.s, and `force`
/// an acceleration in m/s^2, which may depend on time.
struct Field {
    std::string name;
    /// Samples along each axis.
    std::array<uint64_t, 3> counts{};
    /// Where the first one is, and the steps x y z to the next along each axis.
    std::array<double, 3> origin{};
    std::array<double, 9> steps{};
    /// Numbers a sample: 1, or 3 for `vel` and `force`.
    int width = 1;
    /// Samples along the first axis side by side.
    std::vector<float> values;
};

/// Everything that is wired in, at one frame.
struct Inputs {
    std::vector<Object> sources, colliders, bodies;
    bool has_container = false;
    double container_min[3] = {0, 0, 0}, container_max[3] = {0, 0, 0};
    std::vector<Force> forces;
    std::vector<Field> fields;
};

/// The six inputs, in the order of Wires.
enum Wire { Sources, Colliders, Container, Bodies, Forces, Fields, WireCount };

/// What is known of an input without reading it. `version` changes with the content (a hash of it is best: then undo
/// finds the old frames) and does not matter if the input depends on time.
struct WireState {
    bool connected = false;
    bool animated = false;
    uint64_t version = 0;
};
using Wires = std::array<WireState, WireCount>;

/// How far a cook has come.
struct Progress {
    int64_t frame, first, last;
    /// Of the whole cook, 0 to 1.
    double fraction;
    const char *stage;
    double volume;
};

class Host {
public:
    virtual ~Host() = default;
    virtual std::string name() const = 0;
    /// Frames a second as a fraction.
    virtual std::array<uint32_t, 2> fps() const { return {24, 1}; }
    /// Threads that the node may use.
    virtual unsigned threads() const = 0;
    /// Whether the host's polygons turn clockwise seen from outside; frames are given that way, inputs are always turned.
    virtual bool clockwise() const { return false; }
    /// Whether this table is shown in this host.
    virtual bool shows(const Row &row) const { return row.for_houdini; }
    /// Whether a parameter depends on time.
    virtual bool animated(const Row &row) const = 0;
    virtual Value value(const Row &row, double frame) = 0;
    virtual Wires wires() = 0;
    /// Read all inputs at a frame, whole or not. Throws std::runtime_error naming the input if it cannot.
    virtual Inputs read(double frame) = 0;
    /// Called several times a second on the thread that cooks; false cancels.
    virtual bool go_on(const Progress &) { return true; }
};

enum class Level { Info, Warning, Error };

struct Message {
    Level level;
    /// What it is about: an object, an input, a parameter, a folder.
    std::string object;
    std::string text;
};

/// A transform of a floating object: translation, rotation as a quaternion w x y z, scale.
struct BodyPose {
    std::string name;
    double pose[8];
};

/// The liquid on its grid: cells by whole coordinates, tile after tile of the grid, the centre of cell (i, j, k) at
/// origin + cell · (i, j, k). Empty where a simulator has no cubes.
struct Volumes {
    double origin[3] = {0, 0, 0};
    double cell = 0;
    std::vector<int32_t> cells;
    /// Along x, y and z on the lower face of each cell across that axis.
    std::vector<float> velocity;

    std::size_t count() const { return cells.size() / 3; }
};

/// What a frame is to have besides the surface.
struct Besides {
    bool particles = false, volumes = false;
};

/// One finished frame, in scene units and seconds of film. Never changes once it is made. Attributes are whatever the
/// library carries besides position, triangles and velocity, in its own units: `id`, `viscosity`, `Cd`.
struct Frame {
    int64_t frame = 0;
    std::vector<float> points, velocities;
    std::vector<uint32_t> triangles;
    bool has_particles = false;
    std::vector<float> particle_points, particle_velocities;
    std::vector<Attribute> attributes, particle_attributes;
    bool has_volumes = false;
    Volumes volumes;
    std::vector<BodyPose> bodies;
    /// Half the distance of two particles.
    double pscale = 0;
    double volume = 0, volume_expected = 0, max_speed = 0, seconds = 0, residual = 0;
    uint64_t substeps = 0, iterations = 0, memory_bytes = 0;
    std::vector<std::string> warnings;
    /// Values of animated parameters at this frame, as "viscosity = 10".
    std::vector<std::string> sampled;

    std::size_t bytes() const {
        std::size_t sum = sizeof *this + 4 * (points.size() + velocities.size() + triangles.size() + particle_points.size() +
                                              particle_velocities.size() + volumes.cells.size() + volumes.velocity.size());
        for (const auto *list : {&attributes, &particle_attributes})
            for (const Attribute &a : *list) sum += a.bytes();
        return sum;
    }
};

enum class Status { Done, Cancelled, Failed };

/// What a cook gives: the frame that was asked for, or else the last whole one there is.
struct Cooked {
    Status status = Status::Done;
    std::shared_ptr<const Frame> frame;
    /// Seconds of film after the frame, for a cook between frames: move the points by this times their velocity.
    double after = 0;
    std::vector<Message> messages;
};

/// A hash of bytes for versions and keys; the same on every machine of one byte order.
uint64_t hash_bytes(const void *data, std::size_t size, uint64_t seed = 0);
uint64_t hash_mesh(const Mesh &mesh, uint64_t seed = 0);
uint64_t hash_field(const Field &field, uint64_t seed = 0);

} // namespace meniscus::node

#endif
