//! Reads the attributes of prims out of USD's text, `.usda`: as much of the grammar as files of geometry use.
//!
//! ```text
//!     prim       def Type "name" ( … ) { attributes and prims }
//!     attribute  uniform type[] name = value ( … )
//!     samples    type[] name.timeSamples = { time: value, … }        the first counts
//!     value      number, "text", @file@, <path>, ( … ), [ … ], { … }
//! ```
//!
//! What stands in round brackets after a name, variants and relationships are passed over. Numbers are read as what
//! the type says, so that a float comes back to the last bit. A file that ends too early is refused.

use super::assemble::{Numbers, Values};

/// Prims inside one another, and brackets.
const DEEPEST: usize = 64;

/// The attributes of the first prim of a type; an error names the line.
pub(super) fn find(text: &[u8], wanted: &str) -> Result<Option<Values>, (usize, &'static str)> {
    let mut reader = Reader { text, at: 0, wanted, found: None };
    let done = reader.file();
    match done {
        Ok(()) => Ok(reader.found),
        Err(message) => {
            Err((1 + text[..reader.at.min(text.len())].iter().filter(|b| **b == b'\n').count(), message))
        }
    }
}

type Done<T = ()> = Result<T, &'static str>;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    wanted: &'a str,
    found: Option<Values>,
}

/// Where numbers of a value go.
enum Sink {
    None,
    Whole(Vec<i64>),
    Real(Vec<f32>),
}

impl Sink {
    fn take(&mut self, word: &[u8]) -> Done {
        let text = std::str::from_utf8(word).map_err(|_| "a word that is not text")?;
        match self {
            Sink::None => {}
            Sink::Whole(values) => values.push(text.parse().map_err(|_| "a whole number was expected")?),
            Sink::Real(values) => values.push(text.parse().map_err(|_| "a number was expected")?),
        }
        Ok(())
    }
}

impl<'a> Reader<'a> {
    fn file(&mut self) -> Done {
        if !self.text.starts_with(b"#usda") {
            return Err("a USD file in text starts with #usda");
        }
        while self.peek().is_some() {
            match self.peek() {
                Some(b'(') => self.skip(0)?,
                _ => self.prim(0)?,
            }
        }
        Ok(())
    }

    /// The next byte that is not space or a comment.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at)? {
                b'#' => self.at += self.text[self.at..].iter().take_while(|b| **b != b'\n').count(),
                b if b.is_ascii_whitespace() || *b == b';' => self.at += 1,
                b => return Some(*b),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Done {
        match self.peek() {
            Some(b) if b == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err("something else was expected here"),
            None => Err("the file ends too early"),
        }
    }

    /// Letters, digits and what stands in names, types and numbers.
    fn word(&mut self) -> Done<&'a [u8]> {
        self.peek().ok_or("the file ends too early")?;
        let rest = &self.text[self.at..];
        let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_:.[]+-".contains(b) || *b >= 0x80;
        let n = rest.iter().take_while(|b| plain(b)).count();
        if n == 0 {
            return Err("a word was expected here");
        }
        self.at += n;
        Ok(&rest[..n])
    }

    fn quoted(&mut self) -> Done<&'a [u8]> {
        let quote = self.peek().filter(|b| b"\"'".contains(b)).ok_or("a text in quotes was expected")?;
        let triple = self.text[self.at..].starts_with(&[quote; 3]);
        let ends = if triple { 3 } else { 1 };
        let start = self.at + ends;
        let mut at = start;
        loop {
            match self.text.get(at).ok_or("a text does not end")? {
                b'\\' => at += 2,
                b if *b == quote && (!triple || self.text[at..].starts_with(&[quote; 3])) => break,
                _ => at += 1,
            }
        }
        self.at = at + ends;
        Ok(&self.text[start..at])
    }

    fn prim(&mut self, depth: usize) -> Done {
        if depth > DEEPEST {
            return Err("prims are nested too deeply");
        }
        self.word()?;
        let kind = match self.peek() {
            Some(b'"' | b'\'') => &[][..],
            _ => self.word()?,
        };
        self.quoted()?;
        if self.peek() == Some(b'(') {
            self.skip(0)?;
        }
        self.expect(b'{')?;
        let mut own = (kind == self.wanted.as_bytes() && self.found.is_none()).then(Values::new);
        loop {
            match self.peek().ok_or("the file ends too early")? {
                b'}' => break,
                _ => self.item(depth, own.as_mut())?,
            }
        }
        self.at += 1;
        if self.found.is_none() {
            self.found = own;
        }
        Ok(())
    }

    /// A prim inside, or an attribute.
    fn item(&mut self, depth: usize, own: Option<&mut Values>) -> Done {
        let before = self.at;
        let mut kind = self.word()?;
        if matches!(kind, b"def" | b"over" | b"class") {
            self.at = before;
            return self.prim(depth + 1);
        }
        if kind == b"variantSet" {
            self.quoted()?;
            self.expect(b'=')?;
            return self.skip(0);
        }
        while matches!(
            kind,
            b"uniform"
                | b"custom"
                | b"varying"
                | b"config"
                | b"prepend"
                | b"append"
                | b"delete"
                | b"add"
                | b"reorder"
        ) {
            kind = self.word()?;
        }
        let name = self.word()?;
        if self.peek() == Some(b'=') {
            self.at += 1;
            self.value_of(kind, name, own)?;
        }
        if self.peek() == Some(b'(') {
            self.skip(0)?;
        }
        Ok(())
    }

    fn value_of(&mut self, kind: &[u8], name: &[u8], own: Option<&mut Values>) -> Done {
        let sampled = name.strip_suffix(b".timeSamples");
        let plain = sampled.unwrap_or(name);
        let (mut sink, width) = match own.is_some() && !plain.contains(&b'.') {
            true => sink_of(kind),
            false => (Sink::None, 1),
        };
        if sampled.is_some() {
            self.samples(&mut sink)?;
        } else {
            self.value(&mut sink, 0)?;
        }
        let numbers = match sink {
            Sink::None => return Ok(()),
            Sink::Whole(values) => Numbers::Whole(values),
            Sink::Real(values) => Numbers::Real(values, width),
        };
        if let (Some(own), Ok(name)) = (own, std::str::from_utf8(plain)) {
            own.insert(name.to_string(), numbers);
        }
        Ok(())
    }

    /// The first of the samples counts.
    fn samples(&mut self, sink: &mut Sink) -> Done {
        self.expect(b'{')?;
        let mut first = true;
        while self.peek().ok_or("the file ends too early")? != b'}' {
            self.time()?;
            match first {
                true => self.value(sink, 0)?,
                false => self.value(&mut Sink::None, 0)?,
            }
            first = false;
            if self.peek() == Some(b',') {
                self.at += 1;
            }
        }
        self.expect(b'}')
    }

    /// A time and the colon after it, which would be part of a name.
    fn time(&mut self) -> Done {
        self.peek();
        let n = self.text[self.at..].iter().take_while(|b| **b != b':' && **b != b'\n').count();
        self.at += n;
        self.expect(b':')
    }

    fn value(&mut self, sink: &mut Sink, depth: usize) -> Done {
        if depth > DEEPEST {
            return Err("brackets are nested too deeply");
        }
        match self.peek().ok_or("the file ends too early")? {
            open @ (b'[' | b'(') => {
                let close = if open == b'[' { b']' } else { b')' };
                self.at += 1;
                loop {
                    match self.peek().ok_or("the file ends too early")? {
                        b if b == close => break,
                        b',' => self.at += 1,
                        _ => self.value(sink, depth + 1)?,
                    }
                }
                self.at += 1;
                Ok(())
            }
            b'{' | b'@' | b'<' => self.skip(depth),
            b'"' | b'\'' => self.quoted().map(|_| ()),
            _ => {
                let rest = &self.text[self.at..];
                let n = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"+-._".contains(b)).count();
                if n == 0 {
                    return Err("a value was expected here");
                }
                self.at += n;
                if &rest[..n] == b"None" { Ok(()) } else { sink.take(&rest[..n]) }
            }
        }
    }

    /// Pass over something in brackets, an asset or a path, with all that is inside.
    fn skip(&mut self, depth: usize) -> Done {
        if depth > DEEPEST {
            return Err("brackets are nested too deeply");
        }
        let open = self.peek().ok_or("the file ends too early")?;
        let close = match open {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            b'@' => b'@',
            b'"' | b'\'' => return self.quoted().map(|_| ()),
            _ => {
                self.at += 1;
                return Ok(());
            }
        };
        self.at += 1;
        if matches!(open, b'<' | b'@') {
            let n = self.text[self.at..].iter().take_while(|b| **b != close).count();
            self.at += n;
            return self.expect(close);
        }
        while self.peek().ok_or("the file ends too early")? != close {
            self.skip(depth + 1)?;
        }
        self.at += 1;
        Ok(())
    }
}

/// What numbers a type holds, and how many belong together; nothing for matrices and words.
fn sink_of(kind: &[u8]) -> (Sink, usize) {
    let plain = kind.strip_suffix(b"[]").unwrap_or(kind);
    let width = |n: &u8| usize::from(n - b'0');
    match plain {
        b"int" | b"int64" | b"uint" | b"uint64" => (Sink::Whole(Vec::new()), 1),
        b"float" | b"double" | b"half" => (Sink::Real(Vec::new()), 1),
        _ => match plain {
            [name @ .., n @ b'2'..=b'4', b'f' | b'd' | b'h']
                if !name.starts_with(b"matrix") && !name.starts_with(b"quat") =>
            {
                (Sink::Real(Vec::new()), width(n))
            }
            [b'f', b'l', b'o', b'a', b't', n @ b'2'..=b'4'] => (Sink::Real(Vec::new()), width(n)),
            _ => (Sink::None, 1),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_programs_write_is_read() {
        let text = br#"#usda 1.0
(
    doc = """Made "elsewhere" ) }"""
    metersPerUnit = 1
)
def Xform "a" ( prepend references = @./x.usd@</b> )
{
    matrix4d xformOp:transform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )
    rel material:binding = </look>
    def Mesh "m" # a comment
    {
        uniform bool doubleSided = 1
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices.timeSamples = {
            1.5: [0, 1, 2],
            2: [2, 1, 0],
        }
        point3f[] points = [(0, 0, 0), (1e-3, 0.1, -2.5), (0, 1, 0)] ( interpolation = "vertex" )
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)]
    }
}
"#;
        let found = find(text, "Mesh").unwrap().unwrap();
        assert_eq!(found["faceVertexIndices"], Numbers::Whole(vec![0, 1, 2]));
        assert_eq!(found["points"], Numbers::Real(vec![0.0, 0.0, 0.0, 1e-3, 0.1, -2.5, 0.0, 1.0, 0.0], 3));
        assert!(matches!(&found["primvars:st"], Numbers::Real(v, 2) if v.len() == 6));
        assert_eq!(find(text, "Points").unwrap(), None);
        for end in 6..text.len() - 2 {
            // Cut anywhere, it is refused or was empty so far; it never hangs or panics.
            let _ = find(&text[..end], "Mesh");
        }
        assert_eq!(find(&text[..text.len() - 3], "Mesh").unwrap_err().1, "the file ends too early");
    }
}
