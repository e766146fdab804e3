//! Words for people: nothing that moves a cursor, and no panic when the reader has gone.

use meniscus::scene::printable;
use std::io::Write;

/// A line on standard output.
pub fn say(text: &str) {
    // A closed pipe means that nobody listens any more, which is no fault.
    let _ = writeln!(std::io::stdout(), "{}", printable_lines(text));
}

/// A line on standard error.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(text));
}

/// Text of our own, however long, with each line made safe.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// A number of bytes in the unit that a person would use.
pub fn bytes(n: u64) -> String {
    match n as f64 {
        x if x >= 1e9 => format!("{:.1} GB", x / 1e9),
        x if x >= 1e6 => format!("{:.0} MB", x / 1e6),
        x => format!("{:.0} kB", (x / 1e3).ceil()),
    }
}

/// A large count in words.
pub fn count(n: u64) -> String {
    match n as f64 {
        x if x >= 1e9 => format!("{:.1} billion", x / 1e9),
        x if x >= 1e6 => format!("{:.2} million", x / 1e6),
        x if x >= 1e4 => format!("{:.0} thousand", x / 1e3),
        _ => n.to_string(),
    }
}

/// A length in the unit that a person would use.
pub fn length(metres: f64) -> String {
    match metres {
        m if m >= 1.0 => format!("{} m", short(m)),
        m if m >= 0.1 => format!("{} cm", short(m * 100.0)),
        m => format!("{} mm", short(m * 1000.0)),
    }
}

/// At most three digits after the point, without zeros at the end.
pub fn short(x: f64) -> String {
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Seconds as `1:05` or `2:01:05`.
pub fn clock(seconds: f64) -> String {
    let s = if seconds.is_finite() { seconds.round().max(0.0) as u64 } else { 0 };
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}
