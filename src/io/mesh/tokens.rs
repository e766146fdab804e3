//! Words of a text file with the line they stand on.

/// White-space separated words of some bytes.
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(bytes: &'a [u8], line: usize) -> Self {
        Self { bytes, at: 0, line }
    }

    /// The next word, on this or a later line.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        while let Some(b) = self.bytes.get(self.at).filter(|b| b.is_ascii_whitespace()) {
            self.line += (*b == b'\n') as usize;
            self.at += 1;
        }
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    /// Skip the rest of the line, with its end.
    pub fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|b| *b == b'\n');
        self.at += end.map_or(rest.len(), |e| e + 1);
        self.line += end.is_some() as usize;
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Where the last word stands.
    pub fn place(&self) -> String {
        format!("line {}", self.line)
    }
}

/// A word as it is shown in an error: short, and printable.
pub(super) fn show(word: &[u8]) -> String {
    String::from_utf8_lossy(&word[..word.len().min(40)]).escape_debug().to_string()
}

/// A number, or the message that says what stands there instead.
pub(super) fn number<T: std::str::FromStr>(word: &[u8]) -> Result<T, String> {
    let parsed = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
    parsed.ok_or_else(|| format!("`{}` is not a number that fits here", show(word)))
}
