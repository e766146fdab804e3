#include "shot.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

namespace meniscus::node {

namespace {

const char *const list_names[] = {"initial", "emitters", "colliders", "bodies", "sinks"};

std::string place(const Placed &p) {
    return std::string(list_names[static_cast<int>(p.list)]) + "[" + std::to_string(p.index) + "]";
}

bool fits(const char *pattern, const char *word) {
    if (*pattern == '*') return fits(pattern + 1, word) || (*word && fits(pattern, word + 1));
    return *pattern ? *word && (*pattern == '?' || *pattern == *word) && fits(pattern + 1, word + 1) : !*word;
}

/// Names that mean something else, here or in every file, or that say what a source does.
bool is_free(const std::string &name) {
    if (name == "viscosity") return true;
    for (const char *taken : {"P", "Pw", "position", "v", "velocity", "N", "normal", "id", "radius", "age", "phase", "pscale", "x", "y", "z", "vx",
                              "vy", "vz", "nx", "ny", "nz", "s", "t", "red", "green", "blue", "alpha"})
        if (name == taken) return false;
    for (const Row &r : rows)
        if (r.of == Of::Source && name == r.attribute) return false;
    const auto word = [](unsigned char c) { return c == '_' || (c < 128 && std::isalnum(c)); };
    return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), word);
}

/// Rows of the scene that are used, in the order of the table.
bool in_scene(Host &host, const Row &row) { return row.of == Of::Scene && row.path[0] && host.shows(row); }

bool in_domain(const Row &row) { return std::strncmp(row.path, "domain.", 7) == 0; }

bool in_wind(const Row &row) { return std::strncmp(row.path, "forces[wind]", 12) == 0; }

Json number(const Row &row, const Value &value) {
    if (row.is_text()) return Json(value.text);
    if (row.type == Type::Bool) return Json(value.x[0] != 0);
    if (row.width() == 3) return Json::list({Json(value.x[0]), Json(value.x[1]), Json(value.x[2])});
    return Json(value.x[0] * row.factor);
}

Json key(const Row *row, int width, const std::array<double, 4> &k) {
    Json value = width == 3 ? Json::list({Json(k[1]), Json(k[2]), Json(k[3])}) : Json(k[1]);
    if (row && row->type == Type::Bool) value = Json(k[1] != 0);
    return Json::list({Json(k[0]), value});
}

} // namespace

const Row &row(const char *name) {
    for (const Row &r : rows)
        if (std::strcmp(r.name, name) == 0) return r;
    throw std::logic_error(std::string("no parameter is called ") + name);
}

bool matches(const std::string &list, const std::string &name) {
    bool found = false;
    std::istringstream words(list);
    for (std::string word; words >> word;) {
        if (word[0] == '^')
            found = found && !fits(word.c_str() + 1, name.c_str());
        else
            found = found || fits(word.c_str(), name.c_str());
    }
    return found;
}

bool belongs(const Row &r, List list) {
    switch (list) {
    case List::Initial: return r.of == Of::Source && std::strcmp(r.path, "velocity") == 0;
    case List::Emitters: return r.of == Of::Source && r.path[0];
    case List::Colliders: return r.of == Of::Collider && r.path[0];
    case List::Sinks: return r.of == Of::Source && std::strcmp(r.path, "active") == 0;
    default: return r.of == Of::Body && r.path[0];
    }
}

Shot::Shot(Host &host, const Wires &wires, std::vector<Message> &messages) : wires_(wires) {
    start_ = static_cast<int64_t>(std::llround(host.value(row("start_frame"), 0).x[0]));
    const double at = static_cast<double>(start_);
    unit_length_ = host.value(row("unit_length"), at).x[0];
    inputs_ = host.read(at);
    warn_of_density(host, messages);
    const auto painted = [](const Object &o) { return !o.mesh.attributes.empty(); };
    const bool any = std::any_of(inputs_.sources.begin(), inputs_.sources.end(), painted);
    clean(host, inputs_, at);
    if (any && std::none_of(inputs_.sources.begin(), inputs_.sources.end(), painted) && host.value(row("simulator"), at).text == "bcc")
        messages.push_back({Level::Info, "Sources", "liquid on tetrahedra carries no attributes; of a painted viscosity the mean is taken"});
    for (const Object &source : inputs_.sources)
        for (const Attribute &a : source.mesh.attributes)
            if (std::find(carried_.begin(), carried_.end(), a.name) == carried_.end()) carried_.push_back(a.name);
    add(host, inputs_.sources, Of::Source, wires[Sources].animated, messages);
    add(host, inputs_.colliders, Of::Collider, wires[Colliders].animated, messages);
    add(host, inputs_.bodies, Of::Body, wires[Bodies].animated, messages);
    add_fields(host, messages);
    const Row &drag = row("wind_drag");
    wind_ = host.animated(drag) || host.value(drag, at).x[0] != 0;
    find_keyed(host);
    const Json made = scene(host, Recording(), start_);
    const Json &resolution = made.get("resolution");
    cell_ = resolution.get("cell").number();
    if (resolution.get("cell").kind() == Json::Kind::Null) {
        double longest = 0;
        const auto &lo = made.get("domain").get("min").items(), &hi = made.get("domain").get("max").items();
        for (std::size_t a = 0; a < lo.size(); ++a) longest = std::max(longest, hi[a].number() - lo[a].number());
        cell_ = longest * unit_length_ / std::max(1.0, resolution.get("divisions").number());
    }
}

/// All liquid has the density of the panel: a source that says otherwise is named, not passed over.
void Shot::warn_of_density(Host &host, std::vector<Message> &messages) const {
    const double panel = host.value(row("density"), static_cast<double>(start_)).x[0];
    const auto differs = [&](double density) { return std::isfinite(density) && std::abs(density - panel) > 0.02 * panel; };
    for (const Object &source : inputs_.sources) {
        const auto own = source.own.find("density");
        bool found = own != source.own.end() && differs(own->second.x[0]);
        for (const Attribute &a : source.mesh.attributes)
            found = found || (a.name == "density" && a.width == 1 && std::any_of(a.floats.begin(), a.floats.end(), differs));
        if (found)
            messages.push_back({Level::Warning, source.name,
                                "its density does not act: all liquid has that of the panel; give liquids one density, they may differ in viscosity"});
    }
}

void Shot::add_fields(Host &host, std::vector<Message> &messages) {
    const bool tets = host.value(row("simulator"), static_cast<double>(start_)).text == "bcc";
    for (Field &field : inputs_.fields) {
        PlacedField placed;
        const auto left_out = [&](const std::string &why) { messages.push_back({Level::Warning, field.name, why + "; the volume is left out"}); };
        int width = 3;
        if (field.name == "surface" || field.name == "viscosity") width = 1;
        if (field.name == "vel") placed.kind = "velocity";
        if (field.name == "viscosity" || field.name == "force") placed.kind = field.name;
        const auto same = [&](const PlacedField &o) { return o.field.name == field.name; };
        const auto wrong = [](float x) { return !std::isfinite(x); };
        if (placed.kind.empty() && field.name != "surface") {
            left_out("only volumes called surface, vel, viscosity and force are read");
        } else if (std::any_of(fields_.begin(), fields_.end(), same)) {
            left_out("there is another of this name");
        } else if (field.width != width || field.values.size() != field.counts[0] * field.counts[1] * field.counts[2] * static_cast<uint64_t>(width) ||
                   field.values.empty()) {
            left_out("it must have " + std::to_string(width) + (width == 1 ? " number" : " numbers") + " at each sample");
        } else if (std::any_of(field.values.begin(), field.values.end(), wrong)) {
            left_out("it holds numbers that are not finite");
        } else if (tets && field.name == "viscosity") {
            left_out("liquid on tetrahedra carries no viscosity of its own");
        } else {
            placed.animated = wires_[Fields].animated && field.name == "force";
            placed.field = std::move(field);
            fields_.push_back(std::move(placed));
        }
    }
    inputs_.fields.clear();
}

const Field *Shot::find(const Inputs &inputs, const PlacedField &placed) {
    for (const Field &field : inputs.fields)
        if (field.name == placed.field.name && field.width == placed.field.width && !field.values.empty()) return &field;
    return nullptr;
}

std::string Shot::file(const PlacedField &placed, std::optional<std::size_t> sample) {
    char number[32] = "";
    if (sample) std::snprintf(number, sizeof number, ".%06zu", *sample);
    return "fields." + placed.field.name + number + ".nrrd";
}

std::string Shot::unique(const std::string &name, const char *fallback) {
    std::string clean;
    for (char c : name.empty() ? std::string(fallback) : name)
        clean += std::strchr("/\\:*?\"<>|", c) || static_cast<unsigned char>(c) < 0x20 ? '_' : c;
    if (clean.size() > 150) clean.resize(150);
    if (clean[0] == '.') clean[0] = '_';
    std::string found = clean;
    for (int n = 2; std::find(names_.begin(), names_.end(), found) != names_.end(); ++n) found = clean + "_" + std::to_string(n);
    names_.push_back(found);
    return found;
}

void Shot::add(Host &host, std::vector<Object> &from, Of kind, bool animated, std::vector<Message> &messages) {
    const char *words[] = {"", "source", "collider", "body"};
    const char *word = words[static_cast<int>(kind)];
    for (Object &object : from) {
        Placed p;
        p.given = object.name;
        p.animated = animated;
        const double at = static_cast<double>(start_);
        const std::string mode = kind == Of::Source ? value(host, row("source_mode"), &object, at).text : "";
        p.list = kind == Of::Collider ? List::Colliders
                 : kind == Of::Body   ? List::Bodies
                 : mode == "emit"     ? List::Emitters
                 : mode == "drain"    ? List::Sinks
                                      : List::Initial;
        const bool may_come = animated && (p.list == List::Colliders || p.list == List::Emitters);
        if (object.mesh.empty() && !may_come) {
            messages.push_back({Level::Warning, object.name, std::string("this ") + word + " has no polygons and is left out"});
            continue;
        }
        // What is there at the start, floats or swallows is read once.
        if (p.list == List::Initial || p.list == List::Bodies || p.list == List::Sinks) p.animated = false;
        p.name = unique(object.name, word);
        p.object = std::move(object);
        p.index = static_cast<std::size_t>(
            std::count_if(objects_.begin(), objects_.end(), [&](const Placed &o) { return o.list == p.list; }));
        objects_.push_back(std::move(p));
    }
    from.clear();
}

void Shot::find_keyed(Host &host) {
    for (const Row &r : rows) {
        if (!r.animated || !host.shows(r)) continue;
        if (r.of == Of::Scene) {
            if (!r.path[0] || !host.animated(r) || (in_wind(r) && !wind_)) continue;
            Keyed k;
            k.row = &r;
            k.width = r.width();
            k.path = r.path;
            if (in_wind(r)) k.path.replace(k.path.find("wind]"), 4, std::to_string(inputs_.forces.size()));
            keyed_.push_back(k);
            continue;
        }
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            const Placed &p = objects_[i];
            const bool own = p.object.own.count(r.name) > 0;
            const bool moves = own ? p.animated : host.animated(r);
            if (!belongs(r, p.list) || p.list == List::Initial || p.list == List::Bodies || !moves) continue;
            Keyed k;
            k.row = &r;
            k.width = r.width();
            k.path = place(p) + "." + r.path;
            k.object = i;
            keyed_.push_back(k);
        }
    }
    for (std::size_t i = 0; wires_[Forces].animated && i < inputs_.forces.size(); ++i) {
        const std::string &kind = inputs_.forces[i].kind;
        const std::string at = "forces[" + std::to_string(i) + "]." + kind + ".";
        auto push = [&](const char *member, int part, int width) {
            Keyed k;
            k.path = at + member;
            k.force = i;
            k.part = part;
            k.width = width;
            keyed_.push_back(k);
        };
        if (kind == "uniform") {
            push("acceleration", 2, 3);
        } else {
            push("center", 0, 3);
            push("strength", 1, 1);
        }
    }
}

bool Shot::any_animated_mesh() const {
    const bool fields = std::any_of(fields_.begin(), fields_.end(), [](const PlacedField &f) { return f.animated; });
    const bool forces = fields || (wires_[Forces].animated && !inputs_.forces.empty());
    // Colliders that come later than the start are read to be named.
    return forces || wires_[Colliders].animated || std::any_of(objects_.begin(), objects_.end(), [](const Placed &p) { return p.animated; });
}

bool Shot::any_samples() const {
    return any_animated_mesh() || std::any_of(keyed_.begin(), keyed_.end(), [](const Keyed &k) { return k.object || k.force; });
}

bool Shot::has_liquid() const {
    return std::any_of(fields_.begin(), fields_.end(), [](const PlacedField &f) { return f.kind.empty(); }) ||
           std::any_of(objects_.begin(), objects_.end(),
                       [](const Placed &p) { return p.list == List::Initial || p.list == List::Emitters; });
}

Value Shot::value(Host &host, const Row &r, const Object *object, double frame) const {
    if (object) {
        const auto own = object->own.find(r.name);
        if (own != object->own.end()) return own->second;
    }
    return host.value(r, frame);
}

std::optional<Value> Shot::sample(Host &host, const Keyed &k, double frame, const Inputs *inputs) const {
    if (k.force) {
        if (!inputs || *k.force >= inputs->forces.size()) return std::nullopt;
        const Force &f = inputs->forces[*k.force];
        if (k.part == 1) return Value(f.strength);
        const double *v = k.part == 0 ? f.center : f.axis;
        return Value(v[0], v[1], v[2]);
    }
    if (!k.object) {
        Value v = host.value(*k.row, frame);
        v.x[0] *= k.row->factor;
        return v;
    }
    const Placed &p = objects_[*k.object];
    const Object *now = p.animated && inputs ? find(*inputs, p) : &p.object;
    if (!now) return std::nullopt;
    return value(host, *k.row, now, frame);
}

const Object *Shot::find(const Inputs &inputs, const Placed &placed) {
    const auto &all = placed.list == List::Colliders ? inputs.colliders : placed.list == List::Bodies ? inputs.bodies : inputs.sources;
    for (const Object &object : all)
        if (object.name == placed.given) return &object;
    return nullptr;
}

std::vector<std::string> Shot::strangers(const Inputs &inputs) const {
    std::vector<std::string> names;
    for (const auto *list : {&inputs.colliders, &inputs.sources}) {
        const bool animated = wires_[list == &inputs.colliders ? Colliders : Sources].animated;
        for (const Object &object : *list) {
            const bool known = std::any_of(objects_.begin(), objects_.end(), [&](const Placed &p) { return p.given == object.name; });
            if (animated && !known && !object.mesh.empty()) names.push_back(object.name);
        }
    }
    return names;
}

std::vector<std::string> Shot::strange_attributes(const Inputs &inputs) const {
    std::vector<std::string> names;
    for (const Placed &p : objects_) {
        const Object *now = p.animated && p.list == List::Emitters ? find(inputs, p) : nullptr;
        if (!now) continue;
        for (const Attribute &a : now->mesh.attributes)
            if (std::find(carried_.begin(), carried_.end(), a.name) == carried_.end()) names.push_back(a.name);
    }
    return names;
}

void Shot::clean(Host &host, Inputs &inputs, double frame) const {
    const std::string list = host.value(row("carry"), static_cast<double>(start_)).text;
    const bool carries = host.value(row("simulator"), static_cast<double>(start_)).text != "bcc";
    const float panel = static_cast<float>(host.value(row("viscosity"), frame).x[0] * row("viscosity").factor);
    for (Object &source : inputs.sources) {
        std::vector<Attribute> &all = source.mesh.attributes;
        const std::size_t points = source.mesh.points.size() / 3;
        const auto useless = [&](const Attribute &a) {
            const bool whole = a.width >= 1 && a.width <= 4 && a.floats.size() == points * static_cast<std::size_t>(a.width);
            const bool wanted = a.name == "viscosity" ? a.width == 1 : is_free(a.name) && matches(list, a.name);
            return !whole || !wanted;
        };
        all.erase(std::remove_if(all.begin(), all.end(), useless), all.end());
        for (Attribute &a : all)
            for (float &x : a.floats) {
                if (a.name == "viscosity" && !(x >= 0)) x = panel;
                if (!std::isfinite(x)) x = 0;
            }
        if (carries) continue;
        for (const Attribute &a : all) {
            if (a.name != "viscosity" || a.floats.empty() || source.own.count("source_viscosity")) continue;
            double sum = 0;
            for (float x : a.floats) sum += x;
            source.own["source_viscosity"] = Value(sum / static_cast<double>(a.floats.size()));
        }
        all.clear();
    }
    for (Object &collider : inputs.colliders) {
        std::vector<Attribute> &all = collider.mesh.attributes;
        const auto useless = [&](const Attribute &a) {
            return a.name != "friction" || a.width != 1 || a.floats.size() != collider.mesh.points.size() / 3;
        };
        all.erase(std::remove_if(all.begin(), all.end(), useless), all.end());
        for (Attribute &a : all)
            for (float &x : a.floats) x = x > 0 ? std::min(x, 1.0f) : 0.0f;
    }
    for (Object &body : inputs.bodies) body.mesh.attributes.clear();
}

std::string Shot::file(const Placed &placed, std::optional<std::size_t> sample) {
    char number[32] = "";
    if (sample) std::snprintf(number, sizeof number, ".%06zu", *sample);
    return std::string(list_names[static_cast<int>(placed.list)]) + "." + placed.name + number + ".ply";
}

void Shot::write(Json &scene, const Row &r, const std::string &path, const Value &v, const Recording &recording) const {
    const auto keys = recording.keys.find(path);
    if (keys != recording.keys.end() && !keys->second.empty()) {
        Json list = Json::list();
        for (const auto &k : keys->second) list.push(key(&r, r.width(), k));
        scene.at(path)["keys"] = list;
        return;
    }
    if (r.has_absent && v.x[0] == r.absent) return;
    scene.at(path) = number(r, v);
}

void Shot::write_forces(Json &scene, const Recording &recording) const {
    for (std::size_t i = 0; i < inputs_.forces.size(); ++i) {
        const Force &f = inputs_.forces[i];
        const std::string at = "forces[" + std::to_string(i) + "]." + f.kind + ".";
        auto three = [](const double *v) { return Json::list({Json(v[0]), Json(v[1]), Json(v[2])}); };
        if (f.kind == "uniform") {
            scene.at(at + "acceleration") = three(f.axis);
        } else {
            scene.at(at + "center") = three(f.center);
            scene.at(at + "strength") = Json(f.strength);
            scene.at(at + "radius") = Json(f.radius);
            if (f.kind == "vortex") scene.at(at + "axis") = three(f.axis);
        }
    }
    for (const Keyed &k : keyed_) {
        const auto keys = recording.keys.find(k.path);
        if (!k.force || keys == recording.keys.end() || keys->second.empty()) continue;
        Json list = Json::list();
        for (const auto &one : keys->second) list.push(key(nullptr, k.width, one));
        Json &here = scene.at(k.path);
        here = Json();
        here["keys"] = list;
    }
}

/// Distances are liquid at the start, as the surface on which they are zero; the others act.
void Shot::write_fields(Json &scene, const Recording &recording) const {
    for (std::size_t i = 0, acting = 0; i < fields_.size(); ++i) {
        const PlacedField &f = fields_[i];
        if (f.kind.empty()) {
            const std::string here = "initial[" + std::to_string(scene.get("initial").items().size()) + "]";
            scene.at(here + ".name") = Json(f.field.name);
            scene.at(here + ".shape.mesh.file") = Json(file(f, std::nullopt));
            continue;
        }
        const std::string here = "fields[" + std::to_string(acting++) + "].";
        scene.at(here + "name") = Json(f.field.name);
        scene.at(here + "kind") = Json(f.kind);
        Json files = Json::list();
        const auto found = recording.fields.find(i);
        if (found != recording.fields.end())
            for (const auto &one : found->second) files.push(Json::list({Json(one.first), Json(one.second)}));
        else
            files.push(Json::list({Json(static_cast<double>(start_)), Json(file(f, std::nullopt))}));
        scene.at(here + "files") = files;
    }
}

/// A source with a viscosity of its own pours another liquid; those of one viscosity are one liquid.
void Shot::write_liquid(Json &scene, Host &host, const Placed &placed) const {
    const double own = value(host, row("source_viscosity"), &placed.object, static_cast<double>(start_)).x[0];
    if (!(own >= 0) || (placed.list != List::Initial && placed.list != List::Emitters)) return;
    const std::size_t count = scene.get("liquids").items().size();
    std::size_t found = 1;
    while (found < count && scene.get("liquids").items()[found].get("viscosity").number() != own) ++found;
    const std::string name = "liquid " + std::to_string(found + 1);
    if (found == count) {
        const Json density = scene.get("liquids").items()[0].get("density");
        Json &made = scene.at("liquids[" + std::to_string(found) + "]");
        made["name"] = Json(name);
        made["density"] = density;
        made["viscosity"] = Json(own);
        // Which is where can then be seen on the surface.
        scene.at("outputs.attributes[0]") = Json("viscosity");
    }
    scene.at(place(placed) + ".liquid") = Json(name);
}

Json Shot::scene(Host &host, const Recording &recording, int64_t last) const {
    const double at = static_cast<double>(start_);
    Json scene;
    scene["meniscus"] = Json(1.0);
    scene["name"] = Json(host.name());
    const auto fps = host.fps();
    scene["fps"] = fps[1] == 1 ? Json(double(fps[0])) : Json::list({Json(double(fps[0])), Json(double(fps[1]))});
    scene["frames"] = Json::list({Json(at), Json(static_cast<double>(std::max(start_, last)))});
    scene.at("liquids[0].name") = Json("liquid");
    const std::string domain = host.value(row("domain"), at).text;
    write_forces(scene, recording);
    for (const Row &r : rows) {
        if (!in_scene(host, r) || std::strncmp(r.path, "frames", 6) == 0) continue;
        if (in_domain(r) && domain == "none") continue;
        if (in_wind(r) && !wind_) continue;
        std::string path = r.path;
        if (in_wind(r)) path.replace(path.find("wind]"), 4, std::to_string(inputs_.forces.size()));
        write(scene, r, path, host.value(r, at), recording);
    }
    if (domain == "auto" && inputs_.has_container)
        for (std::size_t a = 0; a < 3; ++a) {
            scene.at("domain.min[" + std::to_string(a) + "]") = Json(inputs_.container_min[a]);
            scene.at("domain.max[" + std::to_string(a) + "]") = Json(inputs_.container_max[a]);
        }
    for (std::size_t i = 0; i < objects_.size(); ++i) {
        const Placed &p = objects_[i];
        const std::string here = place(p);
        scene.at(here + ".name") = Json(p.name);
        write_liquid(scene, host, p);
        const std::string shape = here + (p.animated ? ".shape.samples" : ".shape.mesh");
        if (p.animated) {
            Json files = Json::list();
            const auto found = recording.files.find(i);
            if (found != recording.files.end())
                for (const auto &f : found->second) files.push(Json::list({Json(f.first), Json(f.second)}));
            else
                files.push(Json::list({Json(at), Json(p.object.mesh.empty() ? "" : file(p, 0))}));
            scene.at(shape + ".files") = files;
            scene.at(shape + ".by_frame") = Json(true);
        } else {
            scene.at(shape + ".file") = Json(file(p, std::nullopt));
        }
        for (const Row &r : rows) {
            if (!belongs(r, p.list) || !host.shows(r)) continue;
            std::string path = here + "." + r.path;
            if (std::strcmp(r.path, "shape.mesh.detail") == 0) path = shape + ".detail";
            write(scene, r, path, value(host, r, &p.object, at), recording);
        }
    }
    write_fields(scene, recording);
    return scene;
}

uint64_t shot_key(Host &host, const Wires &wires, std::vector<Message> &messages) {
    std::string text = "1";
    const double start = host.value(row("start_frame"), 0).x[0];
    for (const Row &r : rows) {
        const bool counts = r.effect == Effect::Simulation || r.effect == Effect::Input;
        if (!counts || !host.shows(r)) continue;
        const bool moves = host.animated(r);
        text += r.name;
        if (moves && r.animated) {
            text += "~";
            continue;
        }
        if (moves)
            messages.push_back({Level::Warning, r.label, "is animated but can only be read at the start frame"});
        const Value v = host.value(r, start);
        text.append(reinterpret_cast<const char *>(v.x), sizeof v.x);
        text += v.text + "|";
    }
    const auto fps = host.fps();
    text += std::to_string(fps[0]) + "/" + std::to_string(fps[1]);
    for (const WireState &w : wires) {
        const uint64_t version = w.animated || !w.connected ? 0 : w.version;
        text += w.connected ? (w.animated ? "a" : "s") : "-";
        text += std::to_string(version);
    }
    return hash_bytes(text.data(), text.size());
}

} // namespace meniscus::node
