//! Words in the picture: frame, time, litres, and the legend of speeds.

use super::font::{draw_text, text_width};
use super::image::{Image, srgb};
use super::palette::speed_colour;

/// What is written below a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caption {
    pub frame: i64,
    pub seconds: f64,
    pub litres: Option<f64>,
    pub litres_expected: Option<f64>,
}

const INK: [u8; 3] = [244, 246, 248];

impl Caption {
    /// Frame and time.
    pub fn when(&self) -> String {
        format!("frame {}   {:.2} s", self.frame, self.seconds)
    }

    /// Litres, and by how much they miss what there should be.
    pub fn how_much(&self) -> String {
        let Some(litres) = self.litres else { return String::new() };
        let miss = self.litres_expected.filter(|e| *e > 0.0).map(|e| 100.0 * (litres - e) / e);
        match (miss, self.litres_expected) {
            (Some(miss), Some(expected)) => {
                format!("{} of {} ({miss:+.1} %)", volume(litres), volume(expected))
            }
            _ => volume(litres),
        }
    }

    /// Write the caption along the foot of a picture.
    pub fn draw(&self, image: &mut Image) {
        let size = letter_size(image);
        let (margin, foot) = (1.6 * size, image.height as f64 - 2.9 * size);
        draw_text(image, &self.when(), margin, foot, size, INK);
        let words = self.how_much();
        let left = image.width as f64 - margin - text_width(&words, size);
        // A picture too narrow for both has the litres one line up.
        let clear = margin + text_width(&self.when(), size) + 2.0 * size < left;
        draw_text(image, &words, left.max(margin), if clear { foot } else { foot - 2.0 * size }, size, INK);
    }
}

/// Height of a capital, in pixels.
fn letter_size(image: &Image) -> f64 {
    (image.height as f64 / 42.0).clamp(7.0, 40.0)
}

/// A volume in a unit that suits it.
pub fn volume(litres: f64) -> String {
    match litres.abs() {
        l if l >= 1000.0 => format!("{:.3} m3", litres / 1000.0),
        l if l >= 0.1 => format!("{litres:.3} l"),
        0.0 => "0 l".to_string(),
        _ => format!("{:.2} ml", litres * 1000.0),
    }
}

/// A bar of the colours of speed at the right side of a picture.
pub fn draw_speed_legend(image: &mut Image, max: f64) {
    let size = letter_size(image);
    let (width, height) = (0.8 * size, 9.0 * size);
    let (left, top) = (image.width as f64 - 2.4 * size, 2.2 * size);
    for y in 0..height as i64 {
        let colour = speed_colour(1.0 - y as f64 / height);
        let bytes = [colour.x, colour.y, colour.z].map(|c| (srgb(c) * 255.0).round() as u8);
        (0..width as i64).for_each(|x| image.blend(left as i64 + x, top as i64 + y, bytes, 1.0));
    }
    for (share, word) in
        [(1.0, format!("{max:.2} m/s")), (0.5, format!("{:.2}", 0.5 * max)), (0.0, "0".to_string())]
    {
        let at = left - 0.8 * size - text_width(&word, 0.8 * size);
        draw_text(image, &word, at, top + height * (1.0 - share) - 0.4 * size, 0.8 * size, INK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn litres_are_told_in_the_unit_that_suits() {
        let caption = Caption { frame: 24, seconds: 1.0, litres: Some(0.982), litres_expected: Some(1.0) };
        assert_eq!(caption.when(), "frame 24   1.00 s");
        assert_eq!(caption.how_much(), "0.982 l of 1.000 l (-1.8 %)");
        assert_eq!(Caption { litres_expected: Some(0.0), ..caption.clone() }.how_much(), "0.982 l");
        assert_eq!(volume(0.0381), "38.10 ml");
        assert_eq!(volume(12_500.0), "12.500 m3");
        assert_eq!(volume(0.0), "0 l");
    }

    #[test]
    fn a_caption_fits_pictures_of_any_size() {
        let caption = Caption { frame: 1, seconds: 0.0, litres: Some(1.0), litres_expected: Some(1.0) };
        for [width, height] in [[1, 1], [40, 30], [480, 270], [1920, 1080]] {
            let mut image = Image::filled(width, height, [128; 3]);
            caption.draw(&mut image);
            draw_speed_legend(&mut image, 2.5);
            assert!(width < 40 || image.pixels.iter().any(|p| p[0] > 200));
        }
    }
}
