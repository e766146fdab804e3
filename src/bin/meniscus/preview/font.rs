//! A small stroke font, drawn with round pens of any size.
//!
//! A glyph is a list of strokes on a grid: x from 0, y 0 at the foot of a descender, 2 at the base
//! line, 6 at the top of small letters, 8 at the top of capitals. A stroke is a chain of two-digit
//! points "xy"; with `~` in front the points steer a smooth open curve that starts and ends on them
//! (quadratic B-spline), with `@` a closed one.

use super::image::Image;

/// Grid units from the foot of a descender to the top of a capital.
const HEIGHT: f64 = 8.0;
/// Grid units between two letters.
const GAP: f64 = 1.9;

/// The strokes of a character; a box for one that the font does not have.
fn strokes(c: char) -> &'static str {
    match c {
        ' ' => "",
        '0' => "@02424808",
        '1' => "062822 0242",
        '2' => "~0608484502 0242",
        '3' => "~0718484525 ~2545420203",
        '4' => "380444 3832",
        '5' => "480805 ~0516464202",
        '6' => "@02424606 ~380804",
        '7' => "084812",
        '8' => "@05454808 @02424505",
        '9' => "@04444808 ~464212",
        'A' => "022842 1434",
        'B' => "0208 ~08484505 ~05454202",
        'C' => "~474808024243",
        'D' => "0208 ~08484202",
        'E' => "48080242 0535",
        'F' => "480802 0535",
        'G' => "~474808024245 4525",
        'H' => "0802 4842 0545",
        'I' => "0802",
        'J' => "~4844420204",
        'K' => "0208 4804 1542",
        'L' => "080242",
        'M' => "0208254842",
        'N' => "02084248",
        'O' => "@02424808",
        'P' => "0208 ~08484404",
        'Q' => "@02424808 2442",
        'R' => "0208 ~08484404 2442",
        'S' => "~4748080545420203",
        'T' => "0848 2822",
        'U' => "~080302424348",
        'V' => "082248",
        'W' => "0812263248",
        'X' => "0842 0248",
        'Y' => "082548 2522",
        'Z' => "08480242",
        'a' => "@02424606 4642",
        'b' => "0802 @02424606",
        'c' => "~454606024243",
        'd' => "4842 @02424606",
        'e' => "0444 ~444606024243",
        'f' => "~38181512 0636",
        'g' => "@02424606 ~46400001",
        'h' => "0802 ~0406464442",
        'i' => "0602 0808",
        'j' => "~161000 1818",
        'k' => "0802 3603 1432",
        'l' => "~08030222",
        'm' => "0602 ~0406262422 ~2426464442",
        'n' => "0602 ~0406464442",
        'o' => "@02424606",
        'p' => "0600 @02424606",
        'q' => "4640 @02424606",
        'r' => "0602 ~040636",
        's' => "~4546060444420203",
        't' => "~18131232 0636",
        'u' => "4642 ~0604024244",
        'v' => "062246",
        'w' => "0612253246",
        'x' => "0246 0642",
        'y' => "0622 4610",
        'z' => "06460242",
        '.' => "0202",
        ',' => "1201",
        ':' => "0202 0505",
        '%' => "0248 @06262808 @22424424",
        '+' => "0444 2622",
        '-' => "0434",
        '=' => "0343 0545",
        '/' => "0148",
        '(' => "~29070321",
        ')' => "~09272301",
        '_' => "0141",
        '\'' => "0807",
        '!' => "0804 0202",
        '?' => "~070848452524 2222",
        _ => "0208484202",
    }
}

/// Twice the points of a B-spline's control polygon cut at its corners (Chaikin's rule).
fn cut_corners(points: &[[f64; 2]], closed: bool) -> Vec<[f64; 2]> {
    let mix = |a: [f64; 2], b: [f64; 2], t: f64| [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
    let n = points.len();
    let edges = if closed { n } else { n - 1 };
    let mut cut = Vec::with_capacity(2 * edges + 2);
    for e in 0..edges {
        let (a, b) = (points[e], points[(e + 1) % n]);
        // An open curve keeps its two ends.
        cut.push(if !closed && e == 0 { a } else { mix(a, b, 0.25) });
        cut.push(if !closed && e + 1 == edges { b } else { mix(a, b, 0.75) });
    }
    cut
}

/// The straight pieces of a character, in grid units.
fn segments(c: char) -> Vec<[[f64; 2]; 2]> {
    let mut pieces = Vec::new();
    for stroke in strokes(c).split_whitespace() {
        let (smooth, closed) = (stroke.starts_with(['~', '@']), stroke.starts_with('@'));
        let digits: Vec<f64> =
            stroke.bytes().filter(u8::is_ascii_digit).map(|d| f64::from(d - b'0')).collect();
        let mut points: Vec<[f64; 2]> = digits.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
        if smooth {
            (0..3).for_each(|_| points = cut_corners(&points, closed));
        }
        if closed {
            points.push(points[0]);
        }
        pieces.extend(points.windows(2).map(|w| [w[0], w[1]]));
    }
    pieces
}

fn advance(c: char) -> f64 {
    let right =
        strokes(c).split_whitespace().flat_map(|s| s.trim_start_matches(['~', '@']).bytes().step_by(2));
    GAP + right.map(|d| f64::from(d - b'0')).fold(if c == ' ' { 1.2 } else { 0.0 }, f64::max)
}

/// Pixels that a text takes when capitals are `size` pixels high.
pub fn text_width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(advance).sum();
    (units - GAP).max(0.0) * size / 6.0
}

/// Write a text whose capitals are `size` pixels high and begin at (x, y), their upper left corner.
/// Light letters get a dark halo so that they can be read on any ground.
pub fn draw_text(image: &mut Image, text: &str, x: f64, y: f64, size: f64, colour: [u8; 3]) {
    let pen = 0.07 * size + 0.25;
    draw_strokes(image, text, [x, y], size, pen + 0.09 * size + 0.8, [16, 18, 22], 0.45);
    draw_strokes(image, text, [x, y], size, pen, colour, 1.0);
}

fn draw_strokes(
    image: &mut Image,
    text: &str,
    at: [f64; 2],
    size: f64,
    pen: f64,
    colour: [u8; 3],
    alpha: f64,
) {
    let unit = size / 6.0;
    let mut left = at[0];
    for c in text.chars() {
        let place = |p: [f64; 2]| [left + p[0] * unit, at[1] + (HEIGHT - p[1]) * unit];
        let pieces: Vec<_> = segments(c).into_iter().map(|s| s.map(place)).collect();
        let reach = pen + 1.0;
        let right = left + advance(c) * unit;
        for py in (at[1] - unit - reach).floor() as i64..=(at[1] + HEIGHT * unit + reach).ceil() as i64 {
            for px in (left - reach).floor() as i64..=(right + reach).ceil() as i64 {
                let centre = [px as f64 + 0.5, py as f64 + 0.5];
                let near = pieces.iter().map(|s| distance(centre, s)).fold(f64::INFINITY, f64::min);
                image.blend(px, py, colour, alpha * (pen + 0.5 - near).clamp(0.0, 1.0));
            }
        }
        left = right;
    }
}

fn distance(p: [f64; 2], [a, b]: &[[f64; 2]; 2]) -> f64 {
    let (ab, ap) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length = ab[0] * ab[0] + ab[1] * ab[1];
    let t = if length > 0.0 { ((ap[0] * ab[0] + ap[1] * ab[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    let (dx, dy) = (ap[0] - ab[0] * t, ap[1] - ab[1] * t);
    (dx * dx + dy * dy).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USED: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,:%+-=/()_'!?";

    #[test]
    fn every_character_has_strokes_of_its_own() {
        let unknown = strokes('\u{1}');
        let mut seen = std::collections::BTreeSet::new();
        for c in USED.chars() {
            assert_ne!(strokes(c), unknown, "{c}");
            for stroke in strokes(c).split_whitespace() {
                let points = stroke.trim_start_matches(['~', '@']);
                assert!(points.len() >= 4 && points.len().is_multiple_of(2), "{c}");
                assert!(points.bytes().all(|b| b.is_ascii_digit()), "{c}");
            }
            // In this hand 0 and O are the same ring.
            assert!(seen.insert(strokes(c)) || c == 'O', "{c} looks like another character");
        }
    }

    #[test]
    fn characters_stay_apart_when_drawn_small() {
        // At 9 pixels, the smallest size used, any two characters differ in several pixels.
        let picture = |c: char| {
            let mut image = Image::filled(14, 18, [0; 3]);
            draw_text(&mut image, &c.to_string(), 3.0, 3.0, 9.0, [255; 3]);
            image
        };
        let pictures: Vec<(char, Image)> =
            USED.chars().filter(|c| *c != 'O').map(|c| (c, picture(c))).collect();
        for (i, (a, pa)) in pictures.iter().enumerate() {
            for (b, pb) in &pictures[i + 1..] {
                let differ =
                    pa.pixels.iter().zip(&pb.pixels).filter(|(x, y)| x[0].abs_diff(y[0]) > 64).count();
                assert!(differ >= 2, "{a} and {b} look alike");
            }
        }
    }

    #[test]
    fn text_is_as_wide_as_promised() {
        let mut image = Image::filled(400, 60, [0; 3]);
        draw_text(&mut image, "Hamburg 12.5 %", 10.0, 10.0, 20.0, [255; 3]);
        let lit = |x: usize| (0..60).any(|y| image.pixel(x, y)[0] > 128);
        let last = (0..400).rev().find(|&x| lit(x)).unwrap() as f64;
        let expected = 10.0 + text_width("Hamburg 12.5 %", 20.0);
        // The pen adds half its width to the last stroke.
        assert!((last - expected).abs() < 3.0, "{last} {expected}");
    }
}
