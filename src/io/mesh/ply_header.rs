//! The header of a PLY file: format, elements, properties.

use super::fault;
use super::tokens::{Tokens, number, show};
use crate::error::Result;

/// The most properties of an element that are believed.
const MOST_PROPERTIES: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Text,
    LittleEndian,
    BigEndian,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Type {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Type {
    fn parse(word: &[u8]) -> std::result::Result<Self, String> {
        Ok(match word {
            b"char" | b"int8" => Type::I8,
            b"uchar" | b"uint8" => Type::U8,
            b"short" | b"int16" => Type::I16,
            b"ushort" | b"uint16" => Type::U16,
            b"int" | b"int32" => Type::I32,
            b"uint" | b"uint32" => Type::U32,
            b"float" | b"float32" => Type::F32,
            b"double" | b"float64" => Type::F64,
            other => return Err(format!("`{}` is not a type of PLY", show(other))),
        })
    }

    pub fn bytes(self) -> usize {
        match self {
            Type::I8 | Type::U8 => 1,
            Type::I16 | Type::U16 => 2,
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Property {
    pub name: String,
    pub item: Type,
    /// The type of the length, for a list.
    pub list: Option<Type>,
}

#[derive(Clone, Debug)]
pub(super) struct Element {
    pub name: String,
    pub count: usize,
    pub properties: Vec<Property>,
}

impl Element {
    /// The fewest bytes that a row can take.
    pub fn least_bytes(&self, encoding: Encoding) -> usize {
        let one = |p: &Property| match encoding {
            // A digit and a space.
            Encoding::Text => 2,
            _ => p.list.unwrap_or(p.item).bytes(),
        };
        self.properties.iter().map(one).sum()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// Bytes and lines of the header.
    pub bytes: usize,
    pub lines: usize,
}

pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Header> {
    let mut header = Header { encoding: Encoding::Text, elements: Vec::new(), bytes: 0, lines: 0 };
    let mut format_given = false;
    loop {
        let rest = &bytes[header.bytes..];
        let end = rest.iter().position(|b| *b == b'\n');
        let line = &rest[..end.unwrap_or(rest.len())];
        header.bytes += line.len() + end.is_some() as usize;
        header.lines += 1;
        let error = |message: String| fault(file, format!("line {}", header.lines), message);
        let mut words = Tokens::new(line, header.lines);
        let words: [Option<&[u8]>; 5] = std::array::from_fn(|_| words.next());
        match words {
            [Some(b"end_header"), ..] => break,
            [Some(b"format"), Some(name), ..] => {
                header.encoding = encoding(name).map_err(error)?;
                format_given = true;
            }
            [Some(b"element"), Some(name), Some(count), ..] => {
                let element =
                    Element { name: show(name), count: number(count).map_err(error)?, properties: vec![] };
                header.elements.push(element);
            }
            [Some(b"property"), Some(kind), ..] => {
                let property = property(kind, &words[2..]).map_err(error)?;
                match header.elements.last_mut() {
                    Some(e) if e.properties.len() < MOST_PROPERTIES => e.properties.push(property),
                    Some(e) => return Err(error(format!("element {} has too many properties", e.name))),
                    None => return Err(error("a property before the first element".into())),
                }
            }
            [Some(b"ply" | b"comment" | b"obj_info"), ..] | [None, ..] => {}
            [Some(other), ..] => {
                return Err(error(format!("`{}` does not belong into a PLY header", show(other))));
            }
        }
        if end.is_none() {
            return Err(error("the file ends before end_header".into()));
        }
    }
    let missing = || fault(file, format!("line {}", header.lines), "no format line");
    if format_given { Ok(header) } else { Err(missing()) }
}

fn encoding(name: &[u8]) -> std::result::Result<Encoding, String> {
    match name {
        b"ascii" => Ok(Encoding::Text),
        b"binary_little_endian" => Ok(Encoding::LittleEndian),
        b"binary_big_endian" => Ok(Encoding::BigEndian),
        other => Err(format!("`{}` is not a format of PLY", show(other))),
    }
}

fn property(kind: &[u8], words: &[Option<&[u8]>]) -> std::result::Result<Property, String> {
    match (kind, words) {
        (b"list", [Some(length), Some(item), Some(name), ..]) => {
            let list = Some(Type::parse(length)?).filter(|t| !t.is_float());
            let list = list.ok_or_else(|| format!("the length of list {} is no integer", show(name)))?;
            Ok(Property { name: show(name), item: Type::parse(item)?, list: Some(list) })
        }
        (_, [Some(name), ..]) if kind != b"list" => {
            Ok(Property { name: show(name), item: Type::parse(kind)?, list: None })
        }
        _ => Err("a property without a name".into()),
    }
}
