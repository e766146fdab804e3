// The solver node without a host: asked for a frame, it gives that frame.
//
// The frame rule:
// - What depends on time, a parameter or an input, is sampled at each step and never resets.
// - What does not, resets when it changes; so does reset(). What is shown, cached or exported changes nothing.
// - A jump ahead steps through every missing frame, reading inputs at every sample of each.
// - A jump back shows a kept frame, or restores the nearest kept state and steps from there.
// - A frame between two is the earlier one, to be moved along its velocities.
// - Before the start frame there is the start frame.
// Whatever happens, a cook returns: with the frame, or with the last whole one and a message that names what is wrong.
#ifndef MENISCUS_NODE_NODE_HPP
#define MENISCUS_NODE_NODE_HPP

#include "cache.hpp"
#include "shot.hpp"

#include <meniscus.hpp>

namespace meniscus::node {

class Node {
public:
    /// One cook at a time; other nodes may cook meanwhile.
    Cooked cook(Host &host, double frame);
    /// Forget the frames of the present shot and begin anew at the next cook.
    void reset() { reset_ = true; }
    /// Write the scene and its meshes; the command line gives the same frames from it. False and a message if not.
    bool export_scene(Host &host, const std::string &file, std::vector<Message> &messages);

    const Cache &cache() const { return cache_; }
    /// Simulations that were begun, for tests and the curious.
    int begun() const { return begun_; }
    /// Seconds that copying the last computed frame took, for figures.
    double copied_in() const { return copied_in_; }

private:
    struct Sample {
        double frame;
        Inputs inputs;
    };

    void configure(Host &host);
    std::shared_ptr<const Frame> make(Host &host, int64_t wanted, Besides besides, Cooked &out);
    void begin(Host &host, Cooked &out);
    bool restore(Host &host, int64_t frame, Cooked &out);
    void step(Host &host, int64_t first, int64_t wanted, Cooked &out);
    void send(Host &host, int64_t frame, int64_t until, Cooked &out);
    void send_geometry(const Placed &placed, const std::vector<Sample> &samples);
    void send_field(const PlacedField &placed, const std::vector<Sample> &samples);
    void send_panel(Host &host, int64_t until);
    const Inputs &read(Host &host, double frame);
    std::shared_ptr<const Frame> picture(Host &host, Besides besides);
    void note_changes(Host &host, const Frame &frame, Cooked &out);
    std::vector<std::string> sampled(Host &host, int64_t frame);

    Cache cache_;
    uint64_t key_ = 0;
    bool reset_ = false;
    Wires wires_{};
    std::unique_ptr<Shot> shot_;
    std::unique_ptr<Simulation> simulation_;
    /// Whether a frame was left before its end.
    bool unfinished_ = false;
    /// Inputs read last: the end of one frame is the beginning of the next.
    std::vector<Sample> read_;
    std::vector<std::string> strangers_;
    int begun_ = 0;
    double copied_in_ = 0;
};

/// Samples of the animated meshes a frame.
int samples_a_frame(Host &host);
/// A mesh as PLY, and a field as NRRD, that the library reads back to the same bits.
void write_mesh(const std::string &path, const Mesh &mesh);
void write_field(const std::string &path, const Field &field);

} // namespace meniscus::node

#endif
