//! Sparse matrices, Krylov methods, preconditioners and bound-constrained quadratic programs.
