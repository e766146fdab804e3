//! Compiles the few lines of C++ between Meniscus and OpenVDB, if the feature `openvdb` asks for them.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "openvdb")]
    openvdb();
}

#[cfg(feature = "openvdb")]
fn openvdb() {
    let folder = "src/io/vdb";
    for file in ["bridge.rs", "grids.cpp", "grids.h"] {
        println!("cargo:rerun-if-changed={folder}/{file}");
    }
    cxx_build::bridge(format!("{folder}/bridge.rs"))
        .file(format!("{folder}/grids.cpp"))
        .std("c++17")
        // Halves are converted by arithmetic, so that the library with the table need not be linked.
        .define("IMATH_HALF_NO_LOOKUP_TABLE", None)
        // OpenVDB's own headers are not ours to tidy.
        .warnings(false)
        .compile("meniscus_openvdb");
    println!("cargo:rustc-link-lib=openvdb");
    println!("cargo:rustc-link-lib=tbb");
}
