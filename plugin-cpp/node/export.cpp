// The scene as files for the farm: one JSON, and a PLY for each mesh and a NRRD for each field, which are written once however
// often they come.
#include "node.hpp"

#include <filesystem>
#include <set>

namespace fs = std::filesystem;

namespace meniscus::node {

void write_mesh(const std::string &path, const Mesh &mesh) {
    const std::size_t points = mesh.points.size() / 3, triangles = mesh.triangles.size() / 3;
    const bool moves = mesh.velocities.size() == mesh.points.size() && points > 0;
    std::string out = "ply\nformat binary_little_endian 1.0\nelement vertex " + std::to_string(points) +
                      "\nproperty float x\nproperty float y\nproperty float z\n";
    if (moves) out += "property float vx\nproperty float vy\nproperty float vz\n";
    std::size_t row = moves ? 24 : 12;
    for (const Attribute &a : mesh.attributes)
        for (int c = 0; c < a.width; ++c, row += 4) out += "property float " + a.name + (a.width > 1 ? "_" + std::to_string(c) : "") + "\n";
    out += "element face " + std::to_string(triangles) + "\nproperty list uchar uint vertex_indices\nend_header\n";
    std::size_t at = out.size();
    out.resize(at + points * row + triangles * 13);
    for (std::size_t i = 0; i < points; ++i) {
        const auto put = [&](const float *from, std::size_t count) {
            std::memcpy(&out[at], from, 4 * count);
            at += 4 * count;
        };
        put(&mesh.points[3 * i], 3);
        if (moves) put(&mesh.velocities[3 * i], 3);
        for (const Attribute &a : mesh.attributes) put(&a.floats[i * static_cast<std::size_t>(a.width)], static_cast<std::size_t>(a.width));
    }
    for (std::size_t t = 0; t < triangles; ++t, at += 13) {
        out[at] = 3;
        std::memcpy(&out[at + 1], &mesh.triangles[3 * t], 12);
    }
    write_file(path, out.data(), out.size());
}

void write_field(const std::string &path, const Field &field) {
    const auto vector = [](const double *v) {
        char text[96];
        std::snprintf(text, sizeof text, "(%.17g,%.17g,%.17g)", v[0], v[1], v[2]);
        return std::string(text);
    };
    const bool three = field.width == 3;
    std::string out = std::string("NRRD0004\ntype: float\ndimension: ") + (three ? "4" : "3") + "\nsizes:" + (three ? " 3" : "");
    for (uint64_t n : field.counts) out += " " + std::to_string(n);
    out += std::string("\nspace dimension: 3\nspace directions:") + (three ? " none" : "");
    for (std::size_t a = 0; a < 3; ++a) out += " " + vector(&field.steps[3 * a]);
    out += "\nspace origin: " + vector(field.origin.data()) + "\nendian: little\nencoding: raw\n\n";
    const std::size_t head = out.size();
    out.resize(head + 4 * field.values.size());
    std::memcpy(&out[head], field.values.data(), 4 * field.values.size());
    write_file(path, out.data(), out.size());
}

namespace {

/// Writes the meshes and fields of a shot into one folder, each content once.
class Writer {
public:
    Writer(const fs::path &folder, const std::string &prefix) : folder_(folder), prefix_(prefix) {}
    std::string mesh(const Mesh &mesh, const std::string &name) {
        if (mesh.empty()) return "";
        const uint64_t hash = hash_mesh(mesh);
        const auto known = files_.find(hash);
        if (known != files_.end()) return known->second;
        const std::string file = prefix_ + "/" + name;
        write_mesh((folder_ / file).string(), mesh);
        return files_[hash] = file;
    }

    std::string field(const Field &field, const std::string &name) {
        const uint64_t hash = hash_field(field);
        const auto known = files_.find(hash);
        if (known != files_.end()) return known->second;
        const std::string file = prefix_ + "/" + name;
        write_field((folder_ / file).string(), field);
        return files_[hash] = file;
    }

private:
    fs::path folder_;
    std::string prefix_;
    std::map<uint64_t, std::string> files_;
};

} // namespace

bool Node::export_scene(Host &host, const std::string &file, std::vector<Message> &messages) {
    try {
        if (file.empty()) throw std::runtime_error("give the name of a file");
        const Wires wires = host.wires();
        Shot shot(host, wires, messages);
        const int64_t last = std::max(shot.start(), static_cast<int64_t>(host.value(row("end_frame"), 0).x[0]));
        const fs::path path(file);
        const std::string prefix = path.stem().string() + "_meshes";
        std::error_code error;
        fs::create_directories(path.parent_path() / prefix, error);
        if (error) throw std::runtime_error((path.parent_path() / prefix).string() + " cannot be made: " + error.message());
        Writer writer(path.parent_path(), prefix);

        Recording recording;
        std::map<std::string, std::string> still;
        for (const Placed &p : shot.objects())
            if (!p.animated) still[Shot::file(p, std::nullopt)] = writer.mesh(p.object.mesh, Shot::file(p, std::nullopt));
        for (std::size_t i = 0; i < shot.fields().size(); ++i) {
            const PlacedField &f = shot.fields()[i];
            const std::string name = Shot::file(f, std::nullopt);
            if (f.kind.empty())
                still[name] = writer.field(f.field, name);
            else if (!f.animated)
                recording.fields[i] = {{static_cast<double>(shot.start()), writer.field(f.field, name)}};
        }
        const int n = samples_a_frame(host);
        // The panel is read two frames further, as the running node does.
        for (int64_t f = shot.start(); f <= last + 2; ++f) {
            if (!host.go_on({f, shot.start(), last, double(f - shot.start()) / double(last + 3 - shot.start()), "export", 0}))
                throw Cancelled("stopped; the scene is not written");
            for (int i = 0; i < n; ++i) {
                const double at = static_cast<double>(f) + static_cast<double>(i) / n;
                const bool inside = at <= static_cast<double>(last);
                const bool reads = shot.any_animated_mesh() && inside;
                Inputs inputs = reads ? host.read(at) : Inputs();
                shot.clean(host, inputs, at);
                for (const Keyed &k : shot.keyed()) {
                    if ((k.object || k.force) && !inside) continue;
                    Keys &keys = recording.keys[k.path];
                    const auto v = shot.sample(host, k, at, reads ? &inputs : nullptr);
                    if (v)
                        keys.push_back({at, v->x[0], v->x[1], v->x[2]});
                    else if (!keys.empty())
                        keys.push_back({at, keys.back()[1], keys.back()[2], keys.back()[3]});
                }
                for (std::size_t o = 0; reads && o < shot.objects().size(); ++o) {
                    const Placed &p = shot.objects()[o];
                    if (!p.animated) continue;
                    const Object *object = Shot::find(inputs, p);
                    const std::string name = Shot::file(p, recording.files[o].size());
                    recording.files[o].push_back({at, writer.mesh(object ? object->mesh : Mesh(), name)});
                }
                for (std::size_t i = 0; reads && i < shot.fields().size(); ++i) {
                    const PlacedField &f = shot.fields()[i];
                    const Field *now = f.animated ? Shot::find(inputs, f) : nullptr;
                    auto &files = recording.fields[i];
                    if (now)
                        files.push_back({at, writer.field(*now, Shot::file(f, files.size()))});
                    else if (f.animated && !files.empty())
                        files.push_back({at, files.back().second});
                }
            }
        }
        Json scene = shot.scene(host, recording, last);
        // Still meshes are named relative to the scene too.
        for (const char *list : {"initial", "emitters", "colliders", "bodies", "sinks"}) {
            const std::size_t count = scene.get(list).items().size();
            for (std::size_t i = 0; i < count; ++i) {
                const std::string at = std::string(list) + "[" + std::to_string(i) + "].shape";
                if (scene.at(at).get("mesh").kind() == Json::Kind::Null) continue;
                Json &name = scene.at(at + ".mesh.file");
                name = Json(still[name.text()]);
            }
        }
        const std::string text = scene.dump();
        meniscus::estimate(text);
        write_file(file, text.data(), text.size());
        messages.push_back({Level::Info, "Scene File", "written to " + file + "; run it with: meniscus run " + file});
        return true;
    } catch (const std::exception &e) {
        messages.push_back({Level::Error, "Scene File", e.what()});
        return false;
    }
}

} // namespace meniscus::node
