//! The scene: what an artist or a host describes, as JSON, checked before anything is simulated.
