// A host without a program round it: parameters are functions of the frame, inputs are meshes made on the spot.
#ifndef MENISCUS_PLUGIN_FAKE_HOST_HPP
#define MENISCUS_PLUGIN_FAKE_HOST_HPP

#include "../node/node.hpp"

#include <cmath>
#include <functional>

namespace meniscus::node {

/// A box between two corners.
inline Mesh box(double x0, double y0, double z0, double x1, double y1, double z1) {
    Mesh mesh;
    for (int i = 0; i < 8; ++i)
        for (double c : {i & 1 ? x1 : x0, i & 2 ? y1 : y0, i & 4 ? z1 : z0}) mesh.points.push_back(static_cast<float>(c));
    mesh.triangles = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};
    return mesh;
}

/// The same turned about z through the point (x, y).
inline Mesh turned(Mesh mesh, double x, double y, double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t i = 0; i < mesh.points.size(); i += 3) {
        const double a = mesh.points[i] - x, b = mesh.points[i + 1] - y;
        mesh.points[i] = static_cast<float>(x + c * a - s * b);
        mesh.points[i + 1] = static_cast<float>(y + s * a + c * b);
    }
    return mesh;
}

class FakeHost : public Host {
public:
    FakeHost() {
        set("particle_separation", 0.02);
        set("domain_min", Value(0, 0, 0));
        set("domain_max", Value(0.4, 0.3, 0.2));
        inputs = [this](double frame) {
            Inputs in;
            if (source) in.sources.push_back({"pool", box(0, 0, 0, 0.16, 0.2, 0.2), {}});
            if (collider) in.colliders.push_back({"paddle", collider(frame), {}});
            return in;
        };
    }
    void set(const std::string &parameter, const Value &value) {
        curves.erase(parameter);
        values[parameter] = value;
    }
    void animate(const std::string &parameter, std::function<Value(double)> curve) { curves[parameter] = std::move(curve); }

    std::string name() const override { return "fake"; }
    std::array<uint32_t, 2> fps() const override { return rate; }
    unsigned threads() const override { return granted; }
    bool animated(const Row &row) const override { return curves.count(row.name) > 0; }
    Value value(const Row &row, double frame) override {
        const auto curve = curves.find(row.name);
        if (curve != curves.end()) return curve->second(frame);
        const auto found = values.find(row.name);
        return found == values.end() ? Value::of_default(row) : found->second;
    }
    Wires wires() override {
        Wires wires;
        const Inputs in = inputs(0);
        uint64_t version = 0;
        for (const Object &o : in.sources) version = hash_mesh(o.mesh, version);
        wires[Sources] = {!in.sources.empty() || source_moves, source_moves, version};
        version = 0;
        for (const Object &o : in.colliders) version = hash_mesh(o.mesh, version);
        wires[Colliders] = {collider != nullptr || collider_moves, collider_moves, version};
        wires[Container] = {in.has_container, false, hash_bytes(in.container_min, 24, hash_bytes(in.container_max, 24))};
        wires[Forces] = {!in.forces.empty(), forces_move, in.forces.size()};
        version = 0;
        for (const Field &f : in.fields) version = hash_field(f, version);
        wires[Fields] = {!in.fields.empty(), fields_move, version};
        wires[Bodies] = {!in.bodies.empty(), false, in.bodies.size()};
        return wires;
    }
    Inputs read(double frame) override {
        read_at.push_back(frame);
        return inputs(frame);
    }
    bool go_on(const Progress &progress) override {
        seen.push_back(progress);
        return !watch || watch(progress);
    }

    std::map<std::string, Value> values;
    std::map<std::string, std::function<Value(double)>> curves;
    std::function<Inputs(double)> inputs;
    std::function<Mesh(double)> collider;
    std::function<bool(const Progress &)> watch;
    bool source = true, collider_moves = false, source_moves = false, forces_move = false, fields_move = false;
    unsigned granted = 2;
    std::array<uint32_t, 2> rate{24, 1};
    std::vector<double> read_at;
    std::vector<Progress> seen;
};

/// A field over the domain and a little more, with steps of `step`.
inline Field field(const char *name, int width, double step, const std::function<Value(double x, double y, double z)> &f) {
    Field out;
    out.name = name;
    out.width = width;
    out.origin = {-step, -step, -step};
    out.steps = {step, 0, 0, 0, step, 0, 0, 0, step};
    const double size[3] = {0.4, 0.3, 0.2};
    for (std::size_t a = 0; a < 3; ++a) out.counts[a] = static_cast<uint64_t>(std::lround(size[a] / step)) + 3;
    for (uint64_t k = 0; k < out.counts[2]; ++k)
        for (uint64_t j = 0; j < out.counts[1]; ++j)
            for (uint64_t i = 0; i < out.counts[0]; ++i) {
                const Value v = f((double(i) - 1) * step, (double(j) - 1) * step, (double(k) - 1) * step);
                for (int c = 0; c < width; ++c) out.values.push_back(static_cast<float>(v.x[c]));
            }
    return out;
}

/// A paddle that swings through the pool, moved as a whole.
inline Mesh swinging(double frame) { return turned(box(0.2, 0.02, 0, 0.24, 0.28, 0.2), 0.22, 0.26, 0.5 * std::sin(0.3 * frame)); }

inline bool same(const Frame &a, const Frame &b) {
    return a.frame == b.frame && a.points == b.points && a.triangles == b.triangles && a.velocities == b.velocities && a.attributes == b.attributes;
}
/// A mesh with a number painted on each point.
inline Mesh painted(Mesh mesh, const char *name, const std::function<double(double x, double y, double z)> &paint) {
    Attribute a;
    a.name = name;
    for (std::size_t i = 0; i < mesh.points.size(); i += 3)
        a.floats.push_back(static_cast<float>(paint(mesh.points[i], mesh.points[i + 1], mesh.points[i + 2])));
    mesh.attributes.push_back(a);
    return mesh;
}
/// What the surface has of a name, or nothing.
inline std::vector<float> carried(const Frame &frame, const char *name) {
    for (const Attribute &a : frame.attributes)
        if (a.name == name) return a.floats;
    return {};
}
/// The mean of what the surface has of a name where x lies between two places; 0 if there is no surface.
inline double mean(const Frame &frame, const char *name, double low, double high) {
    const std::vector<float> values = carried(frame, name);
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (frame.points[3 * i] >= low && frame.points[3 * i] < high) {
            sum += double(values[i]);
            count += 1;
        }
    return count > 0 ? sum / count : 0;
}
/// What the particles are called.
inline std::vector<int64_t> id_of(const Frame &frame) {
    for (const Attribute &a : frame.particle_attributes)
        if (a.name == "id") return a.integers;
    return {};
}
inline bool says(const Cooked &cooked, Level level, const std::string &words) {
    for (const Message &m : cooked.messages)
        if (m.level == level && (m.object + ": " + m.text).find(words) != std::string::npos) return true;
    return false;
}
inline std::string told(const Cooked &cooked) {
    std::string all;
    for (const Message &m : cooked.messages) all += m.object + ": " + m.text + "; ";
    return all;
}

} // namespace meniscus::node

#endif
