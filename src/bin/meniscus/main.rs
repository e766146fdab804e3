//! The command `meniscus`.

fn main() {}
