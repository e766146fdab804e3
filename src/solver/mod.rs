//! The discrete equations and nothing else.

pub mod bcc;
pub mod light;
pub mod mac;
mod peel;
pub mod pressure;
pub mod rigid;
pub mod rounds;
pub mod stokes;
