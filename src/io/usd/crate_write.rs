//! The binary form of a layer: USD's crate format, version 0.8.0.
//!
//! ```text
//!     "PXR-USDC"  version, 8 bytes  offset of the contents u64  64 bytes of nothing
//!     values                                            what does not fit into a representation
//!     TOKENS     words, each ended by 0, compressed
//!     STRINGS    texts as indices of words; there are none here
//!     FIELDS     (word, representation of a value), both compressed
//!     FIELDSETS  runs of indices of fields, each ended by −1
//!     PATHS      the tree of paths: index, word of the last element (negative for a property), jump
//!     SPECS      (path, set of fields, kind)
//!     contents   number of sections; for each its name in 16 bytes, start and size
//! ```
//!
//! A representation has 64 bits: 63 array, 62 in place, 61 compressed, 48 to 55 the type, below them the
//! value itself or its offset. A jump is −2 at a leaf, −1 with a child only, 0 with a sibling only, else
//! the distance to the sibling, the child being next. Whole numbers are packed by [`super::integers`],
//! floats by a table where few differ; points cannot be, which is why a surface takes 24 bytes a vertex.
//! Read back by Pixar's own library in tests/tiers/usd, and by [`super::crate_read`].

use super::integers::{pack, pack_bytes, pack_long};
use super::layer::{Attribute, Layer, Prim, Value};
use std::collections::HashMap;

pub(super) const IDENT: &[u8; 8] = b"PXR-USDC";
pub(super) const VERSION: [u8; 3] = [0, 8, 0];
/// Shorter arrays are never compressed.
pub(super) const MIN_COMPRESSED: usize = 16;
pub(super) const ARRAY: u64 = 1 << 63;
pub(super) const INLINED: u64 = 1 << 62;
pub(super) const COMPRESSED: u64 = 1 << 61;
const BOOTSTRAP: usize = 88;
/// Most values in a table of floats.
const MAX_TABLE: usize = 1024;

/// Numbers of types, as the format fixes them.
pub(super) mod kind {
    pub const INT: u64 = 3;
    pub const INT64: u64 = 5;
    pub const FLOAT: u64 = 8;
    pub const DOUBLE: u64 = 9;
    pub const TOKEN: u64 = 11;
    pub const MATRIX4D: u64 = 15;
    pub const VEC2F: u64 = 20;
    pub const VEC3F: u64 = 24;
    pub const TOKEN_VECTOR: u64 = 41;
    pub const SPECIFIER: u64 = 42;
    pub const VARIABILITY: u64 = 44;
    pub const TIME_SAMPLES: u64 = 46;
    pub const DOUBLE_VECTOR: u64 = 48;
}

/// Kinds of specs.
pub(super) mod spec {
    pub const ATTRIBUTE: i32 = 1;
    pub const PRIM: i32 = 6;
    pub const PSEUDO_ROOT: i32 = 7;
}

/// The bytes of a layer.
pub(super) fn to_bytes(layer: &Layer) -> Vec<u8> {
    let mut writer = Writer::new(layer.time);
    let mut fields: Vec<(&str, u64)> = Vec::new();
    for (key, value) in &layer.metadata {
        let rep = writer.value(value);
        fields.push((*key, rep));
    }
    let children = writer.token_vector(std::iter::once(layer.root.name.as_str()));
    fields.push(("primChildren", children));
    let root = writer.node(0, 0, spec::PSEUDO_ROOT, &fields);
    writer.prim(&layer.root, root);
    writer.finish()
}

/// A path on its way into the file.
struct Node {
    parent: usize,
    /// Word of its last element, negative for a property.
    element: i32,
    spec: i32,
    fields: i32,
}

struct Writer {
    bytes: Vec<u8>,
    tokens: Vec<String>,
    token_index: HashMap<String, u32>,
    fields: Vec<(u32, u64)>,
    field_index: HashMap<(u32, u64), i32>,
    sets: Vec<i32>,
    set_index: HashMap<Vec<i32>, i32>,
    /// In depth-first order: the attributes of a prim, then its children.
    nodes: Vec<Node>,
    times: u64,
    sections: Vec<(&'static str, usize, usize)>,
}

impl Writer {
    fn new(time: f64) -> Self {
        let mut writer = Writer {
            bytes: vec![0; BOOTSTRAP],
            tokens: Vec::new(),
            token_index: HashMap::new(),
            fields: Vec::new(),
            field_index: HashMap::new(),
            sets: Vec::new(),
            set_index: HashMap::new(),
            nodes: Vec::new(),
            times: 0,
            sections: Vec::new(),
        };
        // The first word is never the name of a property, which needs an index with a sign.
        writer.token("");
        let at = writer.align();
        writer.u64(1);
        writer.bytes.extend(time.to_le_bytes());
        writer.times = kind::DOUBLE_VECTOR << 48 | at;
        writer
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Go to a multiple of eight, where arrays can be read without copying.
    fn align(&mut self) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.len() as u64
    }

    fn token(&mut self, word: &str) -> u32 {
        if let Some(index) = self.token_index.get(word) {
            return *index;
        }
        let index = self.tokens.len() as u32;
        self.tokens.push(word.to_string());
        self.token_index.insert(word.to_string(), index);
        index
    }

    fn token_rep(&mut self, word: &str) -> u64 {
        INLINED | kind::TOKEN << 48 | u64::from(self.token(word))
    }

    fn token_list<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> u64 {
        let indices: Vec<u32> = words.map(|w| self.token(w)).collect();
        let at = self.align();
        self.u64(indices.len() as u64);
        indices.iter().for_each(|i| self.bytes.extend(i.to_le_bytes()));
        at
    }

    fn token_vector<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> u64 {
        kind::TOKEN_VECTOR << 48 | self.token_list(words)
    }

    /// An array as it is; an empty one has no place.
    fn array<T>(&mut self, kind: u64, values: &[T], push: impl Fn(&mut Vec<u8>, &T)) -> u64 {
        if values.is_empty() {
            return ARRAY | kind << 48;
        }
        let at = self.align();
        self.u64(values.len() as u64);
        self.bytes.reserve(std::mem::size_of_val(values));
        values.iter().for_each(|v| push(&mut self.bytes, v));
        ARRAY | kind << 48 | at
    }

    fn packed(&mut self, values: &[i32]) {
        let packed = pack(values);
        self.u64(packed.len() as u64);
        self.bytes.extend(packed);
    }

    fn ints(&mut self, values: &[i32]) -> u64 {
        if values.len() < MIN_COMPRESSED {
            return self.array(kind::INT, values, |b, v| b.extend(v.to_le_bytes()));
        }
        let at = self.align();
        self.u64(values.len() as u64);
        self.packed(values);
        ARRAY | COMPRESSED | kind::INT << 48 | at
    }

    fn floats(&mut self, values: &[f32]) -> u64 {
        let whole = |v: &f32| ((*v as i32) as f32).to_bits() == v.to_bits();
        if values.len() < MIN_COMPRESSED {
            return self.array(kind::FLOAT, values, |b, v| b.extend(v.to_le_bytes()));
        }
        let rep = |at: u64| ARRAY | COMPRESSED | kind::FLOAT << 48 | at;
        if values.iter().all(whole) {
            let at = self.align();
            self.u64(values.len() as u64);
            self.bytes.push(b'i');
            self.packed(&values.iter().map(|v| *v as i32).collect::<Vec<_>>());
            return rep(at);
        }
        let Some((table, indices)) = table_of(values) else {
            return self.array(kind::FLOAT, values, |b, v| b.extend(v.to_le_bytes()));
        };
        let at = self.align();
        self.u64(values.len() as u64);
        self.bytes.push(b't');
        self.bytes.extend((table.len() as u32).to_le_bytes());
        table.iter().for_each(|bits| self.bytes.extend(bits.to_le_bytes()));
        self.packed(&indices);
        rep(at)
    }

    fn value(&mut self, value: &Value) -> u64 {
        match value {
            Value::Token(word) => self.token_rep(word),
            Value::Double(x) if f64::from(*x as f32).to_bits() == x.to_bits() => {
                INLINED | kind::DOUBLE << 48 | u64::from((*x as f32).to_bits())
            }
            Value::Double(x) => {
                let at = self.align();
                self.bytes.extend(x.to_le_bytes());
                kind::DOUBLE << 48 | at
            }
            Value::Tokens(words) => {
                let at = self.token_list(words.iter().map(String::as_str));
                ARRAY | kind::TOKEN << 48 | at
            }
            Value::Ints(values) => self.ints(values),
            Value::Longs(values) if values.len() < MIN_COMPRESSED => {
                self.array(kind::INT64, values, |b, v| b.extend(v.to_le_bytes()))
            }
            Value::Longs(values) => {
                let at = self.align();
                let packed = pack_long(values);
                self.u64(values.len() as u64);
                self.u64(packed.len() as u64);
                self.bytes.extend(packed);
                ARRAY | COMPRESSED | kind::INT64 << 48 | at
            }
            Value::Floats(values) => self.floats(values),
            Value::Pairs(values) => {
                self.array(kind::VEC2F, values, |b, v| v.iter().for_each(|c| b.extend(c.to_le_bytes())))
            }
            Value::Triples(values) => {
                self.array(kind::VEC3F, values, |b, v| v.iter().for_each(|c| b.extend(c.to_le_bytes())))
            }
            Value::Matrix(rows) => {
                let at = self.align();
                rows.iter().for_each(|v| self.bytes.extend(v.to_le_bytes()));
                kind::MATRIX4D << 48 | at
            }
        }
    }

    /// A value at the time of the layer. Its parts are written before it, so both offsets are 8.
    fn sample(&mut self, rep: u64) -> u64 {
        let at = self.align();
        for word in [8, self.times, 8, 1, rep] {
            self.u64(word);
        }
        kind::TIME_SAMPLES << 48 | at
    }

    /// List a path with its fields; returns its number.
    fn node(&mut self, parent: usize, element: i32, spec: i32, fields: &[(&str, u64)]) -> usize {
        let mut set = Vec::new();
        for (key, rep) in fields {
            let entry = (self.token(key), *rep);
            let next = self.fields.len() as i32;
            let index = *self.field_index.entry(entry).or_insert(next);
            if index == next {
                self.fields.push(entry);
            }
            set.push(index);
        }
        let start = self.sets.len() as i32;
        let at = *self.set_index.entry(set.clone()).or_insert(start);
        if at == start {
            self.sets.extend(set);
            self.sets.push(-1);
        }
        self.nodes.push(Node { parent, element, spec, fields: at });
        self.nodes.len() - 1
    }

    fn prim(&mut self, prim: &Prim, parent: usize) {
        let mut fields = vec![("specifier", INLINED | kind::SPECIFIER << 48)];
        if !prim.type_name.is_empty() {
            fields.push(("typeName", self.token_rep(prim.type_name)));
        }
        if !prim.attributes.is_empty() {
            let names = prim.attributes.iter().map(|a| a.name.as_str());
            fields.push(("properties", self.token_vector(names)));
        }
        if !prim.children.is_empty() {
            let names = prim.children.iter().map(|c| c.name.as_str());
            fields.push(("primChildren", self.token_vector(names)));
        }
        let element = self.token(&prim.name) as i32;
        let here = self.node(parent, element, spec::PRIM, &fields);
        for attribute in &prim.attributes {
            self.attribute(attribute, here);
        }
        for child in &prim.children {
            self.prim(child, here);
        }
    }

    fn attribute(&mut self, attribute: &Attribute, parent: usize) {
        let mut fields = vec![("typeName", self.token_rep(attribute.type_name))];
        let rep = self.value(&attribute.value);
        if attribute.uniform {
            fields.push(("variability", INLINED | kind::VARIABILITY << 48 | 1));
            fields.push(("default", rep));
        } else {
            fields.push(("timeSamples", self.sample(rep)));
        }
        if let Some(word) = attribute.interpolation {
            fields.push(("interpolation", self.token_rep(word)));
        }
        if attribute.element_size > 1 {
            fields.push(("elementSize", INLINED | kind::INT << 48 | attribute.element_size as u64));
        }
        let element = -(self.token(&attribute.name) as i32);
        self.node(parent, element, spec::ATTRIBUTE, &fields);
    }

    fn section(&mut self, name: &'static str, write: impl FnOnce(&mut Self)) {
        let start = self.align() as usize;
        write(self);
        self.sections.push((name, start, self.bytes.len() - start));
    }

    fn finish(mut self) -> Vec<u8> {
        self.section("TOKENS", |w| {
            let mut text: Vec<u8> = Vec::new();
            for word in &w.tokens {
                text.extend(word.as_bytes());
                text.push(0);
            }
            let packed = pack_bytes(&text);
            for n in [w.tokens.len(), text.len(), packed.len()] {
                w.u64(n as u64);
            }
            w.bytes.extend(packed);
        });
        self.section("STRINGS", |w| w.u64(0));
        self.section("FIELDS", |w| {
            w.u64(w.fields.len() as u64);
            let fields = std::mem::take(&mut w.fields);
            w.packed(&fields.iter().map(|f| f.0 as i32).collect::<Vec<_>>());
            let reps: Vec<u8> = fields.iter().flat_map(|f| f.1.to_le_bytes()).collect();
            let packed = pack_bytes(&reps);
            w.u64(packed.len() as u64);
            w.bytes.extend(packed);
        });
        self.section("FIELDSETS", |w| {
            let sets = std::mem::take(&mut w.sets);
            w.u64(sets.len() as u64);
            w.packed(&sets);
        });
        self.section("PATHS", |w| {
            let n = w.nodes.len();
            w.u64(n as u64);
            w.u64(n as u64);
            w.packed(&(0..n as i32).collect::<Vec<_>>());
            w.packed(&w.nodes.iter().map(|node| node.element).collect::<Vec<_>>());
            w.packed(&jumps(&w.nodes));
        });
        self.section("SPECS", |w| {
            let nodes = std::mem::take(&mut w.nodes);
            w.u64(nodes.len() as u64);
            w.packed(&(0..nodes.len() as i32).collect::<Vec<_>>());
            w.packed(&nodes.iter().map(|n| n.fields).collect::<Vec<_>>());
            w.packed(&nodes.iter().map(|n| n.spec).collect::<Vec<_>>());
        });
        let contents = self.align();
        self.u64(self.sections.len() as u64);
        for (name, start, size) in std::mem::take(&mut self.sections) {
            let mut field = [0; 16];
            field[..name.len()].copy_from_slice(name.as_bytes());
            self.bytes.extend(field);
            self.u64(start as u64);
            self.u64(size as u64);
        }
        self.bytes[..8].copy_from_slice(IDENT);
        self.bytes[8..11].copy_from_slice(&VERSION);
        self.bytes[16..24].copy_from_slice(&contents.to_le_bytes());
        self.bytes
    }
}

/// Where the tree of paths goes on after each node; see the header.
fn jumps(nodes: &[Node]) -> Vec<i32> {
    let sibling = |i: usize| (i + 1..nodes.len()).find(|&k| i > 0 && nodes[k].parent == nodes[i].parent);
    let one = |i: usize| {
        let child = nodes.get(i + 1).is_some_and(|next| next.parent == i);
        match (child, sibling(i)) {
            (false, None) => -2,
            (true, None) => -1,
            (false, Some(_)) => 0,
            (true, Some(at)) => (at - i) as i32,
        }
    };
    (0..nodes.len()).map(one).collect()
}

/// The different values and the index of each, if few differ.
fn table_of(values: &[f32]) -> Option<(Vec<u32>, Vec<i32>)> {
    let most = MAX_TABLE.min(values.len() / 4);
    let (mut table, mut index) = (Vec::new(), HashMap::new());
    let mut indices = Vec::with_capacity(values.len());
    for v in values {
        let next = table.len() as i32;
        let at = *index.entry(v.to_bits()).or_insert(next);
        if at == next {
            if table.len() == most {
                return None;
            }
            table.push(v.to_bits());
        }
        indices.push(at);
    }
    Some((table, indices))
}
