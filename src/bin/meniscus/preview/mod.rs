//! Pictures of a simulation without a graphics card.

mod body;
mod camera;
mod environment;
mod font;
mod ground;
mod image;
mod optics;
mod palette;
mod render;
mod sampling;
#[cfg(test)]
mod shapes;
mod stage;
#[cfg(test)]
mod tests;
mod trace;
