//! Views of named fields, sampling, extrapolation, and the solids that liquid meets.
