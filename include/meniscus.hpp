// Meniscus for C++: the C header with owners, exceptions and views. Header only, C++11, no dependency.
//
//     meniscus::Simulation water(json);
//     water.step();
//     for (auto p : water.field<double>("surface.position")) use(p[0], p[1], p[2]);
//
// Objects own their handles and can be moved, not copied. Every failure is a meniscus::Error with the code of
// meniscus.h and the library's message. Views borrow: they are valid until the object changes or ends.
#ifndef MENISCUS_HPP
#define MENISCUS_HPP

#include "meniscus.h"

#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace meniscus {

/// A call that failed.
class Error : public std::runtime_error {
public:
    Error(mns_result code, const std::string &message) : std::runtime_error(message), code_(code) {}
    mns_result code() const noexcept { return code_; }

private:
    mns_result code_;
};

/// The host's callback or interrupt() ended the call.
class Cancelled : public Error {
public:
    explicit Cancelled(const std::string &message) : Error(MNS_ERROR_CANCELLED, message) {}
};

inline void check(mns_result result) {
    if (result == MNS_OK) return;
    if (result == MNS_ERROR_CANCELLED) throw Cancelled(mns_last_error());
    throw Error(result, mns_last_error());
}

/// Version of the library, counted as MNS_VERSION.
inline int version() { return mns_version(); }

/// Throws if the library does not fit this header.
inline void check_version() {
    if (mns_version() / 100 != MNS_VERSION / 100)
        throw Error(MNS_ERROR_VERSION, "the Meniscus library and its header are of different versions");
}

/// How the library was built, as JSON.
inline std::string build_info() { return mns_build_info(); }

/// Receives the level (MNS_LOG_ERROR, ...) and text of a message; what it throws is lost.
using Log = std::function<void(int level, const std::string &message)>;

namespace detail {
/// The sink of the process; a message that is on its way keeps the sink it was sent to.
struct LogState {
    std::mutex lock;
    std::shared_ptr<const Log> sink;
    static LogState &get() {
        static LogState state;
        return state;
    }
    static void send(void *, int32_t level, const char *message) {
        try {
            std::shared_ptr<const Log> sink;
            {
                std::lock_guard<std::mutex> held(get().lock);
                sink = get().sink;
            }
            if (sink && *sink) (*sink)(level, message);
        } catch (...) {
        }
    }
};
} // namespace detail

/// Send messages up to a level to a function, for the whole process; without a function there is silence. Every thread
/// that calls the library may call it, also several at once.
inline void set_log(int level, const Log &log) {
    {
        std::lock_guard<std::mutex> held(detail::LogState::get().lock);
        detail::LogState::get().sink = std::make_shared<const Log>(log);
    }
    check(mns_log_set(log ? level : MNS_LOG_NONE, log ? &detail::LogState::send : nullptr, nullptr));
}

namespace detail {
template <class T> struct Type;
template <> struct Type<float> { static constexpr int32_t value = MNS_TYPE_F32; };
template <> struct Type<double> { static constexpr int32_t value = MNS_TYPE_F64; };
template <> struct Type<int32_t> { static constexpr int32_t value = MNS_TYPE_I32; };
template <> struct Type<uint32_t> { static constexpr int32_t value = MNS_TYPE_U32; };
template <> struct Type<int64_t> { static constexpr int32_t value = MNS_TYPE_I64; };
template <> struct Type<uint64_t> { static constexpr int32_t value = MNS_TYPE_U64; };
template <> struct Type<uint8_t> { static constexpr int32_t value = MNS_TYPE_U8; };

template <class T> T sized() {
    T value;
    std::memset(&value, 0, sizeof value);
    value.struct_size = sizeof value;
    return value;
}
} // namespace detail

/// A borrowed array of elements of `width()` numbers. view[i] points to the numbers of element i.
template <class T> class View {
public:
    explicit View(const mns_array &array) : array_(array) {
        if (array.count > 0 && array.type != detail::Type<T>::value)
            throw Error(MNS_ERROR_INVALID, "the field holds numbers of another type");
    }
    std::size_t size() const { return array_.count; }
    bool empty() const { return array_.count == 0; }
    int width() const { return array_.width; }
    const T *data() const { return static_cast<const T *>(array_.data); }
    const T *operator[](std::size_t i) const {
        return reinterpret_cast<const T *>(static_cast<const char *>(array_.data) + i * array_.stride);
    }

    class Iterator {
    public:
        Iterator(const View *view, std::size_t i) : view_(view), i_(i) {}
        const T *operator*() const { return (*view_)[i_]; }
        Iterator &operator++() {
            ++i_;
            return *this;
        }
        bool operator!=(const Iterator &other) const { return i_ != other.i_; }

    private:
        const View *view_;
        std::size_t i_;
    };
    Iterator begin() const { return Iterator(this, 0); }
    Iterator end() const { return Iterator(this, size()); }

private:
    mns_array array_;
};

/// Numbers of yours as an input: `width` to an element, one after another.
template <class T> mns_array array(const T *data, std::size_t count, int width = 1) {
    mns_array a = {data, count, 0, detail::Type<T>::value, width};
    return a;
}
template <class T> mns_array array(const std::vector<T> &values, int width = 1) {
    return array(values.data(), values.size() / static_cast<std::size_t>(width), width);
}

/// Named numbers at the points of a mesh, `width` to a point; name and numbers must live until the call returns.
template <class T> mns_attribute attribute(const char *name, const std::vector<T> &values, int width = 1) {
    mns_attribute a = detail::sized<mns_attribute>();
    a.name = name;
    a.values = array(values, width);
    return a;
}

/// Returns true to go on, false to cancel.
using Progress = std::function<bool(const mns_progress &)>;

/// A mesh at one time: positions x y z x y z ..., triangles a b c a b c ..., where triangles change from sample
/// to sample perhaps velocities, and what is painted on it, as attributes.push_back(attribute("heat", values)). The vectors
/// must live until set_geometry returns.
struct MeshSample {
    MeshSample(double at, const std::vector<double> &points, const std::vector<uint32_t> &corners)
        : frame(at), positions(&points), triangles(&corners), velocities(nullptr) {}
    MeshSample(double at, const std::vector<double> &points, const std::vector<uint32_t> &corners,
               const std::vector<double> &speeds)
        : frame(at), positions(&points), triangles(&corners), velocities(&speeds) {}
    double frame;
    const std::vector<double> *positions;
    const std::vector<uint32_t> *triangles;
    const std::vector<double> *velocities;
    std::vector<mns_attribute> attributes;
};

/// Numbers on a lattice at a frame, borrowed: one or three (width) at each of counts[0] x counts[1] x counts[2] samples, which
/// stand `step` apart along x, y and z, x first. `name` is the file of the scene that it stands for in settings.
inline mns_field field(const std::vector<float> &values, int width, const uint64_t counts[3], const double origin[3], double step,
                       double frame = 0, const char *name = nullptr) {
    mns_field out = detail::sized<mns_field>();
    out.name = name;
    out.frame = frame;
    for (int a = 0; a < 3; ++a) {
        out.counts[a] = counts[a];
        out.origin[a] = origin[a];
        out.steps[4 * a] = step;
    }
    out.values = array(values, width);
    return out;
}

/// A running simulation.
class Simulation {
public:
    /// Build a scene at its first frame.
    explicit Simulation(const std::string &json, const mns_settings *settings = nullptr) {
        check_version();
        check(mns_simulation_create(json.c_str(), settings, &handle_));
    }
    Simulation(Simulation &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Simulation &operator=(Simulation &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Simulation(const Simulation &) = delete;
    Simulation &operator=(const Simulation &) = delete;
    ~Simulation() { mns_simulation_destroy(handle_); }

    /// Compute the next frame.
    void step(const Progress &progress = nullptr) {
        Call call(progress);
        call.finish(mns_simulation_step(handle_, call.callback(), &call));
    }
    /// Compute frames until this one is finished.
    void advance(int64_t frame, const Progress &progress = nullptr) {
        Call call(progress);
        call.finish(mns_simulation_advance(handle_, frame, call.callback(), &call));
    }
    /// Stop a step from any thread.
    void interrupt() const { check(mns_simulation_interrupt(handle_)); }

    int64_t frame() const {
        int64_t frame = 0;
        check(mns_simulation_frame(handle_, &frame));
        return frame;
    }
    /// Cubic metres of liquid.
    double volume() const {
        double volume = 0;
        check(mns_simulation_volume(handle_, &volume, nullptr));
        return volume;
    }
    mns_report report() const {
        mns_report report = detail::sized<mns_report>();
        check(mns_simulation_report(handle_, &report));
        return report;
    }
    std::string report_json() const {
        const char *text = nullptr;
        check(mns_simulation_report_json(handle_, &text));
        return text;
    }
    /// A field by its name, as "surface.position".
    template <class T> View<T> field(const char *name) const {
        mns_array array;
        check(mns_simulation_field(handle_, name, &array));
        return View<T>(array);
    }
    /// The names of all fields.
    std::vector<std::string> field_names() const {
        std::vector<std::string> names;
        const char *name = nullptr;
        while (mns_simulation_field_name(handle_, names.size(), &name) == MNS_OK) names.push_back(name);
        return names;
    }
    /// The triangles of a collider or body in its own coordinates: points and corners.
    std::pair<View<double>, View<uint32_t>> collider_mesh(const std::string &name) const {
        mns_array positions, triangles;
        check(mns_simulation_collider_mesh(handle_, name.c_str(), &positions, &triangles));
        return std::make_pair(View<double>(positions), View<uint32_t>(triangles));
    }
    /// Replace the geometry of a collider or an emitter by meshes at rising frames, or that of a body by one.
    void set_geometry(int32_t kind, const std::string &name, const std::vector<MeshSample> &samples) {
        std::vector<mns_mesh_sample> rows;
        for (const MeshSample &s : samples) {
            mns_mesh_sample row = detail::sized<mns_mesh_sample>();
            row.frame = s.frame;
            row.positions = array(*s.positions, 3);
            row.triangles = array(*s.triangles, 3);
            if (s.velocities) row.velocities = array(*s.velocities, 3);
            row.attributes = s.attributes.data();
            row.attribute_count = s.attributes.size();
            rows.push_back(row);
        }
        check(mns_simulation_set_geometry(handle_, kind, name.c_str(), rows.data(), rows.size()));
    }

    /// Replace a field of the scene by samples at rising frames; see field().
    void set_field(const std::string &name, const std::vector<mns_field> &samples) {
        check(mns_simulation_set_field(handle_, name.c_str(), samples.data(), samples.size()));
    }

    /// Replace a number of the scene, as "liquids[0].viscosity", by rows of a frame and one value, or three.
    void set_keys(const std::string &path, const std::vector<double> &rows, int values = 1) {
        const mns_array keys = array(rows, values + 1);
        check(mns_simulation_set_keys(handle_, path.c_str(), &keys));
    }

    std::vector<uint8_t> save() {
        mns_array bytes;
        check(mns_simulation_save(handle_, &bytes));
        const uint8_t *first = static_cast<const uint8_t *>(bytes.data);
        return std::vector<uint8_t>(first, first + bytes.count);
    }
    void save(const std::string &path) { check(mns_simulation_save_file(handle_, path.c_str())); }
    void load(const std::vector<uint8_t> &bytes) {
        check(mns_simulation_load(handle_, bytes.data(), bytes.size()));
    }
    void load(const std::string &path) { check(mns_simulation_load_file(handle_, path.c_str())); }

    mns_simulation *handle() const { return handle_; }

private:
    /// A C++ callback behind a C one: an exception in it cancels the step and goes on to the caller.
    class Call {
    public:
        explicit Call(const Progress &progress) : progress_(progress) {}
        mns_progress_callback callback() const { return progress_ ? &Call::run : nullptr; }
        void finish(mns_result result) const {
            if (thrown_) std::rethrow_exception(thrown_);
            check(result);
        }

    private:
        static int32_t run(void *user, const mns_progress *progress) {
            Call *call = static_cast<Call *>(user);
            try {
                return call->progress_(*progress) ? 0 : 1;
            } catch (...) {
                call->thrown_ = std::current_exception();
                return 1;
            }
        }
        const Progress &progress_;
        std::exception_ptr thrown_;
    };

    mns_simulation *handle_ = nullptr;
};

/// How big a scene will be; throws if it is wrong.
inline mns_estimate estimate(const std::string &json) {
    mns_estimate estimate = detail::sized<mns_estimate>();
    check(mns_scene_estimate(json.c_str(), &estimate));
    return estimate;
}

/// A grid of your own for one solve.
class Grid {
public:
    /// Cells along x, y, z; one along z makes it flat.
    Grid(const std::array<uint32_t, 3> &cells, const std::array<double, 3> &origin, double cell, unsigned threads = 0) {
        check_version();
        mns_grid_options options = detail::sized<mns_grid_options>();
        options.threads = threads;
        for (int a = 0; a < 3; ++a) {
            options.cells[a] = cells[static_cast<std::size_t>(a)];
            options.origin[a] = origin[static_cast<std::size_t>(a)];
        }
        options.cell = cell;
        check(mns_grid_create(&options, &handle_));
    }
    Grid(Grid &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Grid &operator=(Grid &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Grid(const Grid &) = delete;
    Grid &operator=(const Grid &) = delete;
    ~Grid() { mns_grid_destroy(handle_); }

    /// Set a field; see mns_grid_set for names and sizes.
    template <class T> void set(const char *name, const std::vector<T> &values) {
        mns_array a = array(values);
        check(mns_grid_set(handle_, name, &a));
    }
    void set(const char *name, double value) {
        mns_array a = array(&value, 1);
        check(mns_grid_set(handle_, name, &a));
    }
    mns_solve_info solve_pressure(double dt, double tolerance = 1e-6) {
        mns_pressure_options options;
        check(mns_pressure_options_init(&options, sizeof options));
        options.dt = dt;
        options.tolerance = tolerance;
        return solve_pressure(options);
    }
    mns_solve_info solve_pressure(const mns_pressure_options &options) {
        mns_solve_info info = detail::sized<mns_solve_info>();
        check(mns_grid_solve_pressure(handle_, &options, &info));
        return info;
    }
    /// Apply viscosity alone; read velocity_x, ... and stress_xx, ...
    mns_solve_info solve_viscosity(double dt, double tolerance = 1e-8) {
        mns_solve_info info = detail::sized<mns_solve_info>();
        const mns_stokes_options options = stokes_options(dt, tolerance);
        check(mns_grid_solve_viscosity(handle_, &options, &info));
        return info;
    }
    /// Pressure and viscosity at once; read pressure, velocity_x, ... and stress_xx, ...
    mns_solve_info solve_stokes(double dt, double tolerance = 1e-8) {
        mns_solve_info info = detail::sized<mns_solve_info>();
        const mns_stokes_options options = stokes_options(dt, tolerance);
        check(mns_grid_solve_stokes(handle_, &options, &info));
        return info;
    }
    void interrupt() const { check(mns_grid_interrupt(handle_)); }
    template <class T = double> View<T> field(const char *name) const {
        mns_array a;
        check(mns_grid_field(handle_, name, &a));
        return View<T>(a);
    }
    /// Where the values of a field sit: x, y, z of each.
    View<double> positions(const char *name) const {
        mns_array a;
        check(mns_grid_positions(handle_, name, &a));
        return View<double>(a);
    }
    mns_grid *handle() const { return handle_; }

private:
    static mns_stokes_options stokes_options(double dt, double tolerance) {
        mns_stokes_options options;
        check(mns_stokes_options_init(&options, sizeof options));
        options.dt = dt;
        options.tolerance = tolerance;
        return options;
    }

    mns_grid *handle_ = nullptr;
};

/// Tetrahedra over a box for one solve, small where asked.
class Lattice {
public:
    /// The widest cells along x, y, z, each halved `depth` times at most; `sizing` holds x, y, z and the width wanted
    /// there, point after point, and without any all cells are as fine as they may be.
    Lattice(const std::array<uint32_t, 3> &cells, const std::array<double, 3> &origin, double cell, unsigned depth,
            const std::vector<double> &sizing = {}, unsigned threads = 0) {
        check_version();
        mns_lattice_options options = detail::sized<mns_lattice_options>();
        options.threads = threads;
        options.depth = depth;
        for (int a = 0; a < 3; ++a) {
            options.cells[a] = cells[static_cast<std::size_t>(a)];
            options.origin[a] = origin[static_cast<std::size_t>(a)];
        }
        options.cell = cell;
        mns_array points = array(sizing.data(), sizing.size() / 4, 4);
        check(mns_lattice_create(&options, sizing.empty() ? nullptr : &points, &handle_));
    }
    Lattice(Lattice &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Lattice &operator=(Lattice &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Lattice(const Lattice &) = delete;
    Lattice &operator=(const Lattice &) = delete;
    ~Lattice() { mns_lattice_destroy(handle_); }

    /// Set a field; see mns_lattice_set for names and sizes.
    template <class T> void set(const char *name, const std::vector<T> &values, int width = 1) {
        mns_array a = array(values.data(), values.size() / static_cast<std::size_t>(width), width);
        check(mns_lattice_set(handle_, name, &a));
    }
    void set(const char *name, double value) {
        mns_array a = array(&value, 1);
        check(mns_lattice_set(handle_, name, &a));
    }
    static mns_lattice_solve_options options(double dt) {
        mns_lattice_solve_options options;
        check(mns_lattice_solve_options_init(&options, sizeof options));
        options.dt = dt;
        return options;
    }
    mns_solve_info solve_pressure(const mns_lattice_solve_options &options) {
        mns_solve_info info = detail::sized<mns_solve_info>();
        check(mns_lattice_solve_pressure(handle_, &options, &info));
        return info;
    }
    mns_solve_info solve_viscosity(const mns_lattice_solve_options &options) {
        mns_solve_info info = detail::sized<mns_solve_info>();
        check(mns_lattice_solve_viscosity(handle_, &options, &info));
        return info;
    }
    void interrupt() const { check(mns_lattice_interrupt(handle_)); }
    template <class T = double> View<T> field(const char *name) const {
        mns_array a;
        check(mns_lattice_field(handle_, name, &a));
        return View<T>(a);
    }
    /// Where the values of a field sit: x, y, z of each.
    View<double> positions(const char *name) const {
        mns_array a;
        check(mns_lattice_positions(handle_, name, &a));
        return View<double>(a);
    }
    mns_lattice *handle() const { return handle_; }

private:
    mns_lattice *handle_ = nullptr;
};

} // namespace meniscus

#endif
