//! A USD layer before it is written: prims in a tree, each with attributes.

/// A value of an attribute or of metadata.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Token(String),
    Double(f64),
    Tokens(Vec<String>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Pairs(Vec<[f32; 2]>),
    Triples(Vec<[f32; 3]>),
    /// Rows after one another; a point is a row before it.
    Matrix([f64; 16]),
}

/// A named value of a prim.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub name: String,
    /// As "point3f[]".
    pub type_name: &'static str,
    /// The same at all times, and never animated.
    pub uniform: bool,
    /// For primvars: where the values sit.
    pub interpolation: Option<&'static str>,
    /// Values that belong to one element, if more than one.
    pub element_size: i32,
    pub value: Value,
}

impl Attribute {
    /// A value that belongs to the frame.
    pub fn sampled(name: impl Into<String>, type_name: &'static str, value: Value) -> Self {
        Attribute {
            name: name.into(),
            type_name,
            uniform: false,
            interpolation: None,
            element_size: 1,
            value,
        }
    }

    /// A value that never changes.
    pub fn uniform(name: impl Into<String>, type_name: &'static str, value: Value) -> Self {
        Attribute { uniform: true, ..Self::sampled(name, type_name, value) }
    }

    /// Values that sit on vertices.
    pub fn on_vertices(self) -> Self {
        Attribute { interpolation: Some("vertex"), ..self }
    }
}

/// A node of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Prim {
    pub name: String,
    /// As "Mesh"; empty for a mere folder.
    pub type_name: &'static str,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Prim>,
}

impl Prim {
    pub fn new(name: impl Into<String>, type_name: &'static str) -> Self {
        Prim { name: name.into(), type_name, ..Default::default() }
    }
}

/// A layer with one root prim, at one time.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub root: Prim,
    /// Metadata of the layer, in order.
    pub metadata: Vec<(&'static str, Value)>,
    /// The time code of everything that is sampled.
    pub time: f64,
}

/// A name that USD allows: letters, digits and underscores, not a digit first.
pub(super) fn identifier(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn names_become_identifiers() {
        for (name, expected) in
            [("cup", "cup"), ("Cup.001", "Cup_001"), ("2nd", "_2nd"), ("", "_"), ("é", "_")]
        {
            assert_eq!(identifier(name), expected);
        }
    }
}
