#include "node.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace meniscus::node {

namespace {

/// The attributes of a mesh for the library, borrowed.
std::vector<mns_attribute> borrowed(const Mesh &mesh) {
    std::vector<mns_attribute> all;
    for (const Attribute &a : mesh.attributes) all.push_back(meniscus::attribute(a.name.c_str(), a.floats, a.width));
    return all;
}

/// A field for the library, borrowed.
mns_field borrowed(const Field &field) {
    mns_field out = detail::sized<mns_field>();
    std::copy(field.counts.begin(), field.counts.end(), out.counts);
    std::copy(field.origin.begin(), field.origin.end(), out.origin);
    std::copy(field.steps.begin(), field.steps.end(), out.steps);
    out.values = meniscus::array(field.values.data(), field.values.size() / static_cast<std::size_t>(field.width), field.width);
    return out;
}

mns_array floats(const std::vector<float> &v) { return meniscus::array(v.data(), v.size() / 3, 3); }

void copy(const View<double> &from, double by, std::vector<float> &to) {
    to.resize(3 * from.size());
    const double *x = from.data();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(x[i] * by);
}

int64_t start_of(Host &host) { return static_cast<int64_t>(std::llround(host.value(row("start_frame"), 0).x[0])); }

double gigabytes(Host &host, const char *name) { return std::max(0.0, host.value(row(name), 0).x[0]) * 1e9; }

/// Add a key; an object that is not there keeps the value that it had.
void record(std::vector<double> &rows, double frame, const std::optional<Value> &value, int width) {
    const std::size_t before = rows.size();
    if (!value && rows.empty()) return;
    rows.push_back(frame);
    for (int i = 0; i < width; ++i) rows.push_back(value ? value->x[i] : rows[before - static_cast<std::size_t>(width - i)]);
}

/// A field of any type as floats or, if it counts, as whole numbers.
Attribute attribute(const char *name, const mns_array &field) {
    Attribute out;
    out.name = name;
    out.width = field.width;
    const std::size_t width = static_cast<std::size_t>(std::max(field.width, 1));
    const auto fill = [&](auto view, auto &to) {
        to.reserve(field.count * width);
        using Number = typename std::decay_t<decltype(to)>::value_type;
        for (std::size_t i = 0; i < field.count; ++i)
            for (std::size_t c = 0; c < width; ++c) to.push_back(static_cast<Number>(view[i][c]));
    };
    switch (field.type) {
    case MNS_TYPE_F32: fill(View<float>(field), out.floats); break;
    case MNS_TYPE_F64: fill(View<double>(field), out.floats); break;
    case MNS_TYPE_I32: fill(View<int32_t>(field), out.integers); break;
    case MNS_TYPE_U32: fill(View<uint32_t>(field), out.integers); break;
    case MNS_TYPE_I64: fill(View<int64_t>(field), out.integers); break;
    case MNS_TYPE_U64: fill(View<uint64_t>(field), out.integers); break;
    case MNS_TYPE_U8: fill(View<uint8_t>(field), out.integers); break;
    default: break;
    }
    return out;
}

/// Every field of a kind, as "particle.", that has a value for each of `count` points and is not copied by name.
std::vector<Attribute> attributes(const Simulation &simulation, const std::string &kind, std::size_t count) {
    std::vector<Attribute> all;
    const char *name = nullptr;
    for (std::size_t i = 0; mns_simulation_field_name(simulation.handle(), i, &name) == MNS_OK; ++i) {
        if (std::strncmp(name, kind.c_str(), kind.size()) != 0) continue;
        const std::string own = name + kind.size();
        mns_array field;
        if (own == "position" || own == "velocity" || own == "triangle") continue;
        // What this simulator does not have is empty or refused.
        if (mns_simulation_field(simulation.handle(), name, &field) != MNS_OK || field.count != count || count == 0) continue;
        all.push_back(attribute(own.c_str(), field));
    }
    return all;
}

Besides wanted_besides(Host &host) {
    const Row &volumes = row("output_volumes");
    return {host.value(row("output"), 0).text != "surface", host.shows(volumes) && host.value(volumes, 0).x[0] != 0};
}

/// The grid of the present frame. Positions of cells are its centres plus whole numbers of cells, but for round-off.
Volumes volumes(const Simulation &s, double cell, double length, double speed) {
    Volumes out;
    const auto at = s.field<double>("cell.position");
    if (at.size() == 0 || s.field<double>("face.position_x").size() != at.size()) return out;
    out.cell = cell * length;
    for (int a = 0; a < 3; ++a) out.origin[a] = at[0][a] * length;
    out.cells.resize(3 * at.size());
    out.velocity.assign(3 * at.size(), 0);
    for (std::size_t i = 0; i < at.size(); ++i)
        for (int a = 0; a < 3; ++a) out.cells[3 * i + std::size_t(a)] = static_cast<int32_t>(std::lround((at[i][a] - at[0][a]) / cell));
    for (std::size_t a = 0; a < 3; ++a) {
        const auto along = s.field<double>((std::string("face.velocity_") + "xyz"[a]).c_str());
        // A flat scene has none across z.
        for (std::size_t i = 0; i < along.size() && i < at.size(); ++i) out.velocity[3 * i + a] = static_cast<float>(along[i][0] * speed);
    }
    return out;
}

} // namespace

int samples_a_frame(Host &host) {
    return static_cast<int>(std::min(64.0, std::max(1.0, host.value(row("collider_samples"), 0).x[0])));
}

Cooked Node::cook(Host &host, double frame) {
    Cooked out;
    try {
        if (!std::isfinite(frame)) throw std::runtime_error("the frame is not a number");
        configure(host);
        const Wires wires = host.wires();
        const uint64_t key = shot_key(host, wires, out.messages);
        if (key != key_ || reset_) {
            simulation_.reset();
            shot_.reset();
            read_.clear();
            if (reset_) cache_.forget(key);
        }
        key_ = key;
        wires_ = wires;
        reset_ = false;
        const double start = static_cast<double>(start_of(host));
        const double whole = std::max(start, std::floor(frame));
        const auto fps = host.fps();
        out.after = frame > whole ? (frame - whole) * fps[1] / fps[0] : 0;
        const Besides besides = wanted_besides(host);
        const int64_t wanted = static_cast<int64_t>(whole);
        out.frame = cache_.frame(key_, wanted, besides);
        if (out.frame)
            note_changes(host, *out.frame, out);
        else
            out.frame = make(host, wanted, besides, out);
        if (out.frame)
            for (const std::string &w : out.frame->warnings) out.messages.push_back({Level::Warning, host.name(), w});
    } catch (const Cancelled &) {
        out.status = Status::Cancelled;
        out.messages.push_back({Level::Info, host.name(), "stopped; the last whole frame is shown"});
    } catch (const Error &e) {
        out.status = Status::Failed;
        // What was read may be what is wrong; it is read anew.
        read_.clear();
        out.messages.push_back({Level::Error, host.name(), e.what()});
    } catch (const std::bad_alloc &) {
        out.status = Status::Failed;
        out.messages.push_back({Level::Error, host.name(), "memory ran out: use larger cells, or less cache memory"});
    } catch (const std::exception &e) {
        out.status = Status::Failed;
        out.messages.push_back({Level::Error, host.name(), e.what()});
    }
    if (!out.frame) out.frame = cache_.nearest_frame(key_, static_cast<int64_t>(std::isfinite(frame) ? frame : 0));
    return out;
}

void Node::configure(Host &host) {
    const double memory = std::min(gigabytes(host, "cache_memory"), 1e15);
    cache_.configure(static_cast<std::size_t>(memory), host.value(row("cache_dir"), 0).text,
                     static_cast<uint64_t>(std::min(gigabytes(host, "cache_disk"), 1e18)));
}

/// Compute a frame that is not kept.
std::shared_ptr<const Frame> Node::make(Host &host, int64_t wanted, Besides besides, Cooked &out) {
    const int64_t start = start_of(host);
    // What was left in the middle of a frame can go on, but is not the frame before.
    auto ready = [&] { return simulation_ && simulation_->frame() + (unfinished_ ? 1 : 0) <= wanted; };
    for (auto state = cache_.nearest_state(key_, wanted); state;) {
        if (ready() && simulation_->frame() >= *state) break;
        if (restore(host, *state, out)) break;
        // A state that cannot be used is passed over for the one before it.
        state = *state > start ? cache_.nearest_state(key_, *state - 1) : std::nullopt;
    }
    if (!ready()) begin(host, out);
    if (!simulation_) return std::make_shared<Frame>();
    const int64_t first = simulation_->frame();
    while (simulation_->frame() < wanted) step(host, first, wanted, out);
    auto kept = cache_.frame(key_, wanted, besides);
    if (kept) return kept;
    auto frame = picture(host, besides);
    cache_.put(key_, frame, out.messages);
    return frame;
}

/// Build the simulation at the start frame.
void Node::begin(Host &host, Cooked &out) {
    simulation_.reset();
    read_.clear();
    strangers_.clear();
    unfinished_ = false;
    shot_ = std::make_unique<Shot>(host, wires_, out.messages);
    if (!shot_->has_liquid()) {
        out.messages.push_back({Level::Error, "Sources", "there is nothing to simulate: wire a closed mesh into the first input, or a volume called surface into the last"});
        return;
    }
    Recording recording;
    for (const Keyed &k : shot_->keyed()) {
        const double at = static_cast<double>(shot_->start());
        const auto v = shot_->sample(host, k, at, nullptr);
        if (v) recording.keys[k.path] = {{at, v->x[0], v->x[1], v->x[2]}};
    }
    const std::string json = shot_->scene(host, recording, static_cast<int64_t>(host.value(row("end_frame"), 0).x[0])).dump();
    std::vector<std::string> names;
    std::vector<mns_named_mesh> meshes;
    std::vector<std::vector<mns_attribute>> carried;
    for (const Placed &p : shot_->objects()) {
        if (p.object.mesh.empty()) continue;
        names.push_back(Shot::file(p, p.animated ? std::optional<std::size_t>(0) : std::nullopt));
        mns_named_mesh mesh = detail::sized<mns_named_mesh>();
        mesh.positions = floats(p.object.mesh.points);
        mesh.triangles = meniscus::array(p.object.mesh.triangles, 3);
        meshes.push_back(mesh);
        carried.push_back(borrowed(p.object.mesh));
    }
    for (std::size_t i = 0; i < meshes.size(); ++i) {
        meshes[i].name = names[i].c_str();
        meshes[i].attributes = carried[i].data();
        meshes[i].attribute_count = carried[i].size();
    }
    std::vector<std::string> field_names;
    std::vector<mns_field> fields;
    for (const PlacedField &f : shot_->fields()) {
        field_names.push_back(Shot::file(f, std::nullopt));
        fields.push_back(borrowed(f.field));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i].name = field_names[i].c_str();
    mns_settings settings = detail::sized<mns_settings>();
    settings.threads = std::max(1u, host.threads());
    settings.memory_limit = static_cast<uint64_t>(gigabytes(host, "memory_limit"));
    settings.meshes = meshes.data();
    settings.mesh_count = meshes.size();
    settings.fields = fields.data();
    settings.field_count = fields.size();
    simulation_ = std::make_unique<Simulation>(json, &settings);
    ++begun_;
    cache_.put(key_, picture(host, wanted_besides(host)), out.messages);
    cache_.put_state(key_, shot_->start(), simulation_->save(), out.messages);
}

/// Go to a kept state; false if it is damaged.
bool Node::restore(Host &host, int64_t frame, Cooked &out) {
    if (!simulation_) begin(host, out);
    if (!simulation_) return false;
    if (simulation_->frame() == frame && !unfinished_) return true;
    const auto state = cache_.state(key_, frame);
    if (!state) return false;
    try {
        simulation_->load(*state);
        unfinished_ = false;
        // Solids are not in the state: stand them where the frame before left them, and load again among them.
        read_.clear();
        send_panel(host, frame + 1);
        if (shot_->any_samples()) {
            send(host, frame > shot_->start() ? frame - 1 : frame, frame, out);
            simulation_->load(*state);
        }
        return true;
    } catch (const Error &) {
        simulation_.reset();
        return false;
    }
}

/// Compute the next frame and keep it.
void Node::step(Host &host, int64_t first, int64_t wanted, Cooked &out) {
    const int64_t frame = simulation_->frame();
    send_panel(host, frame + 2);
    if (shot_->any_samples()) send(host, frame, frame + 1, out);
    unfinished_ = true;
    simulation_->step([&](const mns_progress &p) {
        const double done = (static_cast<double>(frame - first) + p.fraction) / static_cast<double>(wanted - first);
        return host.go_on({p.frame, first, wanted, done, p.stage, p.volume});
    });
    unfinished_ = false;
    cache_.put(key_, picture(host, wanted_besides(host)), out.messages);
    const int64_t every = std::max<int64_t>(1, static_cast<int64_t>(host.value(row("checkpoint_every"), 0).x[0]));
    if ((simulation_->frame() - shot_->start()) % every == 0)
        cache_.put_state(key_, simulation_->frame(), simulation_->save(), out.messages);
}

const Inputs &Node::read(Host &host, double frame) {
    for (const Sample &s : read_)
        if (s.frame == frame) return s.inputs;
    read_.push_back({frame, shot_->any_animated_mesh() ? host.read(frame) : Inputs()});
    shot_->clean(host, read_.back().inputs, frame);
    return read_.back().inputs;
}

/// Send what moves from `frame` to `until`, which is the next one, or the same to stand still.
void Node::send(Host &host, int64_t frame, int64_t until, Cooked &out) {
    const int n = samples_a_frame(host);
    const double from = static_cast<double>(frame);
    // Of the samples that are there only the last is of use: it begins this frame.
    read_.erase(std::remove_if(read_.begin(), read_.end(), [&](const Sample &s) { return s.frame < from; }), read_.end());
    read_.reserve(static_cast<std::size_t>(n) + 1);
    for (int i = 0; i <= (until > frame ? n : 0); ++i) read(host, from + static_cast<double>(i) / n);
    std::vector<Sample> &samples = read_;
    std::sort(samples.begin(), samples.end(), [](const Sample &a, const Sample &b) { return a.frame < b.frame; });
    const auto warn = [&](const std::vector<std::string> &names, const std::string &what) {
        for (const std::string &name : names)
            if (std::find(strangers_.begin(), strangers_.end(), what + name) == strangers_.end()) {
                strangers_.push_back(what + name);
                out.messages.push_back({Level::Warning, what + name, "was not there at the start frame and is left out; have it there from the start"});
            }
    };
    for (const Sample &s : samples) {
        warn(shot_->strangers(s.inputs), "");
        warn(shot_->strange_attributes(s.inputs), "attribute ");
    }
    for (const Placed &p : shot_->objects())
        if (p.animated) send_geometry(p, samples);
    for (const PlacedField &f : shot_->fields())
        if (f.animated) send_field(f, samples);
    for (const Keyed &k : shot_->keyed()) {
        if (!k.object && !k.force) continue;
        std::vector<double> rows;
        for (const Sample &s : samples)
            record(rows, s.frame, shot_->sample(host, k, s.frame, &s.inputs), k.width);
        const std::size_t width = static_cast<std::size_t>(k.width) + 1;
        mns_array keys = meniscus::array(rows.data(), rows.size() / width, k.width + 1);
        if (!rows.empty()) check(mns_simulation_set_keys(simulation_->handle(), k.path.c_str(), &keys));
    }
}

void Node::send_geometry(const Placed &placed, const std::vector<Sample> &samples) {
    static const Mesh nothing;
    std::vector<mns_mesh_sample> rows;
    std::vector<std::vector<mns_attribute>> carried;
    for (const Sample &s : samples) {
        const Object *object = Shot::find(s.inputs, placed);
        const Mesh &mesh = object ? object->mesh : nothing;
        mns_mesh_sample one = detail::sized<mns_mesh_sample>();
        one.frame = s.frame;
        one.positions = floats(mesh.empty() ? nothing.points : mesh.points);
        one.triangles = meniscus::array(mesh.triangles, 3);
        if (!mesh.empty()) one.velocities = floats(mesh.velocities);
        rows.push_back(one);
        carried.push_back(mesh.empty() ? std::vector<mns_attribute>() : borrowed(mesh));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].attributes = carried[i].data();
        rows[i].attribute_count = carried[i].size();
    }
    const int32_t kind = placed.list == List::Colliders ? MNS_GEOMETRY_COLLIDER : MNS_GEOMETRY_EMITTER;
    check(mns_simulation_set_geometry(simulation_->handle(), kind, placed.name.c_str(), rows.data(), rows.size()));
}

/// A field that has vanished stays as it was.
void Node::send_field(const PlacedField &placed, const std::vector<Sample> &samples) {
    std::vector<mns_field> rows;
    for (const Sample &s : samples)
        if (const Field *field = Shot::find(s.inputs, placed)) {
            rows.push_back(borrowed(*field));
            rows.back().frame = s.frame;
        } else if (!rows.empty()) {
            rows.push_back(rows.back());
            rows.back().frame = s.frame;
        }
    if (!rows.empty()) check(mns_simulation_set_field(simulation_->handle(), placed.field.name.c_str(), rows.data(), rows.size()));
}

/// Send the animated numbers of the panel from the start on: the clock adds up their past.
void Node::send_panel(Host &host, int64_t until) {
    const int n = samples_a_frame(host);
    for (const Keyed &k : shot_->keyed()) {
        if (k.object || k.force) continue;
        std::vector<double> rows;
        for (int64_t f = shot_->start(); f <= until; ++f)
            for (int i = 0; i < (f < until ? n : 1); ++i) {
                const double at = static_cast<double>(f) + static_cast<double>(i) / n;
                const auto v = shot_->sample(host, k, at, nullptr);
                rows.push_back(at);
                rows.insert(rows.end(), v->x, v->x + k.width);
            }
        mns_array keys = meniscus::array(rows.data(), rows.size() / (static_cast<std::size_t>(k.width) + 1), k.width + 1);
        check(mns_simulation_set_keys(simulation_->handle(), k.path.c_str(), &keys));
    }
}

/// The present frame, copied once, in the host's units.
std::shared_ptr<const Frame> Node::picture(Host &host, Besides besides) {
    auto out = std::make_shared<Frame>();
    const Simulation &s = *simulation_;
    out->frame = s.frame();
    const double length = 1.0 / shot_->unit_length();
    const double speed = length * host.value(row("time_scale"), static_cast<double>(out->frame)).x[0];
    const auto positions = s.field<double>("surface.position");
    // Only now is the surface made; what follows is copying.
    const auto begin = std::chrono::steady_clock::now();
    copy(positions, length, out->points);
    const auto velocity = s.field<float>("surface.velocity");
    out->velocities.resize(3 * velocity.size());
    const float by = static_cast<float>(speed), *v = velocity.data();
    for (std::size_t i = 0; i < out->velocities.size(); ++i) out->velocities[i] = v[i] * by;
    const auto triangles = s.field<uint32_t>("surface.triangle");
    out->triangles.assign(triangles.data(), triangles.data() + 3 * triangles.size());
    out->attributes = attributes(s, "surface.", out->points.size() / 3);
    for (std::size_t t = 0; host.clockwise() && t < out->triangles.size(); t += 3) std::swap(out->triangles[t + 1], out->triangles[t + 2]);
    out->has_particles = besides.particles;
    out->has_volumes = besides.volumes;
    if (besides.volumes) out->volumes = volumes(s, shot_->cell(), length, speed);
    if (besides.particles) {
        copy(s.field<double>("particle.position"), length, out->particle_points);
        copy(s.field<double>("particle.velocity"), speed, out->particle_velocities);
        out->particle_attributes = attributes(s, "particle.", out->particle_points.size() / 3);
    }
    copied_in_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // Poses of the bodies stand behind those of the colliders.
    const auto &objects = shot_->objects();
    const auto poses = s.field<double>("collider.pose");
    const auto colliders = static_cast<std::size_t>(
        std::count_if(objects.begin(), objects.end(), [](const Placed &p) { return p.list == List::Colliders; }));
    for (const Placed &p : objects)
        if (p.list == List::Bodies && colliders + p.index < poses.size()) {
            BodyPose body;
            body.name = p.given;
            std::memcpy(body.pose, poses[colliders + p.index], sizeof body.pose);
            for (int a = 0; a < 3; ++a) body.pose[a] *= length;
            out->bodies.push_back(body);
        }
    const mns_report r = s.report();
    out->pscale = 0.25 * shot_->cell() * length;
    out->volume = r.volume;
    out->volume_expected = r.volume_expected;
    out->max_speed = r.max_speed;
    out->seconds = r.seconds;
    out->residual = r.residual;
    out->substeps = r.substeps;
    out->iterations = r.iterations;
    out->memory_bytes = r.memory_bytes;
    if (r.warnings > 0) {
        const Json report = Json::parse(s.report_json());
        for (const Json &w : report.get("warnings").items()) out->warnings.push_back(w.text());
    }
    out->sampled = sampled(host, out->frame);
    return out;
}

std::vector<std::string> Node::sampled(Host &host, int64_t frame) {
    std::vector<std::string> all;
    for (const Row &r : rows) {
        if (!r.animated || r.of != Of::Scene || !host.shows(r) || !host.animated(r)) continue;
        const Value v = host.value(r, static_cast<double>(frame));
        char text[160];
        if (r.width() == 3)
            std::snprintf(text, sizeof text, "%s %.9g %.9g %.9g %s", r.label, v.x[0], v.x[1], v.x[2], r.unit);
        else
            std::snprintf(text, sizeof text, "%s %.9g %s", r.label, v.x[0], r.unit);
        all.push_back(text);
    }
    return all;
}

/// A curve that was edited does not reset; say with what a kept frame was computed.
void Node::note_changes(Host &host, const Frame &frame, Cooked &out) {
    const auto now = sampled(host, frame.frame);
    for (const std::string &was : frame.sampled)
        if (std::find(now.begin(), now.end(), was) == now.end())
            out.messages.push_back({Level::Info, host.name(), "this frame was computed with " + was + "; Reset to compute it anew"});
}

} // namespace meniscus::node
