//! Bodies that liquid moves, and walls that let it go.

mod contact;
mod coupling;
mod peel;
#[path = "../scene_support/mod.rs"]
mod scene_support;
mod support;
