// The few calls of OpenVDB that Meniscus makes; src/io/vdb/bridge.rs is the other side.
#pragma once

#include "rust/cxx.h"
#include <cstdint>
#include <memory>
#include <openvdb/openvdb.h>

namespace meniscus {

struct Layout;
struct Liquid;

/// The grids of one file. Every function may throw; the bridge turns that into an error of Rust.
class Grids {
public:
    explicit Grids(std::uint32_t threads) : threads_(threads) {}

    void add_surface(rust::Str name, rust::Slice<const float> points, rust::Slice<const std::uint32_t> triangles, const Layout& layout);
    void add_scalar(rust::Str name, const Layout& layout, rust::Slice<const float> values, rust::Slice<const std::uint8_t> active);
    void add_staggered(rust::Str name, const Layout& layout, rust::Slice<const float> values, rust::Slice<const std::uint8_t> active);
    void write(rust::Str path) const;

private:
    std::uint32_t threads_;
    openvdb::GridPtrVec grids_;
};

std::unique_ptr<Grids> new_grids(std::uint32_t threads);
Liquid read_liquid(rust::Str path, std::uint32_t threads);

} // namespace meniscus
