//! Pages that are one file: text made safe, pictures inside the page, nothing fetched from anywhere.

use super::super::preview::image::Image;
use meniscus::Result;
use meniscus::scene::printable;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A whole page.
pub fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    // Nothing may be loaded even if a name in the scene tried to.
    let policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
         <title>{title}</title>\n<style>\n{STYLE}</style></head>\n<body>\n{body}\n<script>\n{SCRIPT}</script>\n\
         </body></html>\n"
    )
}

/// Text that means itself in HTML, in attributes too, without control characters.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.lines().map(printable).collect::<Vec<_>>().join("\n").chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON inside a script element: no tag can begin in it.
pub fn script_json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A picture as the address of an `img`.
pub fn picture(image: &Image) -> Result<String> {
    Ok(format!("data:image/png;base64,{}", base64(&image.to_png()?)))
}

/// Base64 with the usual alphabet and padding (RFC 4648).
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |i: usize| u32::from(part.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k)) as usize & 63];
            text.push(if k <= part.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let cases = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let coded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(cases.map(|c| base64(c.as_bytes())), coded);
    }

    #[test]
    fn a_name_cannot_leave_its_place() {
        assert_eq!(escape("<b a='x'>&\"\u{1b}"), "&lt;b a=&#39;x&#39;&gt;&amp;&quot;\u{fffd}");
        let json = script_json(&serde_json::json!({"name": "</script><script>"}));
        assert!(!json.contains('<'));
    }
}
