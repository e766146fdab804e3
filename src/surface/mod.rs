//! Trackers of the liquid surface.
