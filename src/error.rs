//! The errors of the library: values with names and numbers, never a panic.
//!
//! Each variant names the object at fault and, where there is one, the fix. [`Error::code`] is the
//! number that crosses the C ABI and never changes its meaning.

/// What every fallible function of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number, index or size that an argument may not have.
    #[error("{what}: {message}")]
    Invalid { what: String, message: String },
    /// The scene text is wrong; `path` leads to the value, as in `colliders[2].radius`.
    #[error("scene: {path}: {message}")]
    Scene { path: String, message: String },
    /// A mesh or shape cannot be used.
    #[error("{object}: {message}")]
    Geometry { object: String, message: String },
    /// A file is not what it should be; `place` is a line or a byte offset.
    #[error("{file}: {place}: {message}")]
    Format { file: String, place: String, message: String },
    /// The operating system refused.
    #[error("{path}: {message}")]
    Io { path: String, message: String },
    /// More memory would be needed than is allowed or present.
    #[error("{what} needs {needed_mb} MB, {limit_mb} MB are allowed: {fix}")]
    Memory { what: String, needed_mb: u64, limit_mb: u64, fix: String },
    /// The host or the user asked to stop; the last whole state is kept.
    #[error("cancelled")]
    Cancelled,
    /// A stage produced numbers that are not finite, or a solve did not converge.
    #[error("{stage}: {message}")]
    Diverged { stage: String, message: String },
    /// Somebody else is using the object.
    #[error("{what} is in use: {message}")]
    Busy { what: String, message: String },
    /// Data written by a version that this one cannot read.
    #[error("{what}: written by version {found}, this is version {supported}")]
    Version { what: String, found: u32, supported: u32 },
    /// A combination that this build or this simulator does not offer.
    #[error("{what} is not supported: {message}")]
    Unsupported { what: String, message: String },
}

impl Error {
    /// The stable number of this kind of error (negative; 0 means success).
    pub fn code(&self) -> i32 {
        match self {
            Error::Invalid { .. } => -1,
            Error::Scene { .. } => -2,
            Error::Geometry { .. } => -3,
            Error::Format { .. } => -4,
            Error::Io { .. } => -5,
            Error::Memory { .. } => -6,
            Error::Cancelled => -7,
            Error::Diverged { .. } => -8,
            Error::Busy { .. } => -9,
            Error::Version { .. } => -10,
            Error::Unsupported { .. } => -11,
        }
    }

    /// An [`Error::Invalid`].
    pub fn invalid(what: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Invalid { what: what.into(), message: message.into() }
    }

    /// An [`Error::Scene`] at a path such as `liquids[0].density`.
    pub fn scene(path: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Scene { path: path.into(), message: message.into() }
    }

    /// An [`Error::Geometry`].
    pub fn geometry(object: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Geometry { object: object.into(), message: message.into() }
    }

    /// An [`Error::Io`] from what the operating system said.
    pub fn io(path: impl AsRef<std::path::Path>, error: &std::io::Error) -> Self {
        Error::Io { path: path.as_ref().display().to_string(), message: error.to_string() }
    }

    /// An [`Error::Diverged`].
    pub fn diverged(stage: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Diverged { stage: stage.into(), message: message.into() }
    }
}
