// From parameters and inputs to a scene. A shot is what a host describes at the start frame; a recording is what its
// animated numbers and meshes were at later frames. Together they are the JSON scene, whether for the running node (a
// recording of the first frame) or for the farm (one of all frames).
#ifndef MENISCUS_NODE_SHOT_HPP
#define MENISCUS_NODE_SHOT_HPP

#include "host.hpp"
#include "json.hpp"
#include "table.hpp"

#include <optional>

namespace meniscus::node {

/// What a list of the scene an object is in.
enum class List { Initial, Emitters, Colliders, Bodies, Sinks };

/// An object of the scene with its place in it.
struct Placed {
    List list;
    std::size_t index = 0;
    /// Unique, and fit for the name of a file.
    std::string name;
    /// Name in the inputs.
    std::string given;
    /// Whether its input depends on time.
    bool animated = false;
    Object object;
};

/// A field that liquid begins with or is driven by.
struct PlacedField {
    Field field;
    /// Its kind in the scene; empty for the distance to liquid.
    std::string kind;
    /// Whether it is sent at each sample.
    bool animated = false;
};

/// A number of the scene that changes with the frame: of the panel, of an object, or of a force.
struct Keyed {
    std::string path;
    const Row *row = nullptr;
    /// Index into Shot::objects, or of a force, or none for the panel.
    std::optional<std::size_t> object, force;
    /// Which number of a force.
    int part = 0;
    int width = 1;
};

/// Frames and values (one or three) of animated numbers, and files of animated meshes, by path and by object.
using Keys = std::vector<std::array<double, 4>>;
struct Recording {
    std::map<std::string, Keys> keys;
    std::map<std::size_t, std::vector<std::pair<double, std::string>>> files;
    /// Files of animated fields, by their place in Shot::fields.
    std::map<std::size_t, std::vector<std::pair<double, std::string>>> fields;
};

class Shot {
public:
    /// Read the host at the start frame.
    Shot(Host &host, const Wires &wires, std::vector<Message> &messages);

    int64_t start() const { return start_; }
    double unit_length() const { return unit_length_; }
    double cell() const { return cell_; }
    /// Whether inputs must be read at each sample.
    bool any_animated_mesh() const;
    /// Whether something of the objects or forces changes with the frame.
    bool any_samples() const;
    bool has_liquid() const;
    const std::vector<Placed> &objects() const { return objects_; }
    const std::vector<Keyed> &keyed() const { return keyed_; }
    const std::vector<PlacedField> &fields() const { return fields_; }

    /// The value of an animated number at a frame. `inputs` are those of that frame and may be null for the panel's.
    std::optional<Value> sample(Host &host, const Keyed &keyed, double frame, const Inputs *inputs) const;
    /// The object of this frame's inputs that is `placed`, or null if it has vanished.
    static const Object *find(const Inputs &inputs, const Placed &placed);
    /// Objects of this frame that the scene does not have, named.
    std::vector<std::string> strangers(const Inputs &inputs) const;
    /// Attributes of this frame's pouring sources that no source had at the start, so that liquid has no place for them.
    std::vector<std::string> strange_attributes(const Inputs &inputs) const;
    /// Leave of the inputs' attributes what liquid carries and walls have, as numbers that every file can hold. A negative
    /// viscosity is that of the panel.
    void clean(Host &host, Inputs &inputs, double frame) const;
    /// The scene. `last` is its last frame.
    Json scene(Host &host, const Recording &recording, int64_t last) const;
    /// The field of this frame's inputs that is `placed`, or null if it has vanished or changed its kind.
    static const Field *find(const Inputs &inputs, const PlacedField &placed);
    /// The file of a field.
    static std::string file(const PlacedField &placed, std::optional<std::size_t> sample);
    /// The file of an object's mesh: that of a sample if it moves.
    static std::string file(const Placed &placed, std::optional<std::size_t> sample);

private:
    void add(Host &host, std::vector<Object> &from, Of kind, bool animated, std::vector<Message> &messages);
    void add_fields(Host &host, std::vector<Message> &messages);
    void warn_of_density(Host &host, std::vector<Message> &messages) const;
    void find_keyed(Host &host);
    Value value(Host &host, const Row &row, const Object *object, double frame) const;
    void write(Json &scene, const Row &row, const std::string &path, const Value &value, const Recording &recording) const;
    void write_liquid(Json &scene, Host &host, const Placed &placed) const;
    void write_forces(Json &scene, const Recording &recording) const;
    void write_fields(Json &scene, const Recording &recording) const;
    std::string unique(const std::string &name, const char *fallback);

    int64_t start_ = 1;
    double unit_length_ = 1, cell_ = 0;
    Inputs inputs_;
    Wires wires_;
    std::vector<Placed> objects_;
    std::vector<PlacedField> fields_;
    std::vector<Keyed> keyed_;
    std::vector<std::string> names_;
    /// What liquid of some source carries from the start frame on.
    std::vector<std::string> carried_;
    bool wind_ = false;
};

/// The row of this name.
const Row &row(const char *name);
/// Whether a row of an object's kind is written for an object of this list.
bool belongs(const Row &row, List list);
/// Whether a name is among those of a list such as "* ^uv": words with * and ? for any letters, ^ for all but these.
bool matches(const std::string &list, const std::string &name);
/// A hash of all that makes a simulation begin anew when it changes.
uint64_t shot_key(Host &host, const Wires &wires, std::vector<Message> &messages);

} // namespace meniscus::node

#endif
