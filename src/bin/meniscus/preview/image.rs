//! Eight-bit pictures in sRGB, and how they reach a file.
//!
//! Animations are APNG: every frame a full picture, shown for the same fraction of a second.

use meniscus::io::atomic;
use meniscus::math::elementary::pow;
use meniscus::{Error, Result};
use std::io::Write;
use std::path::Path;

/// A colour: linear light while rendering, display values in 0..1 when painting.
pub type Rgb = meniscus::math::Vec3;

/// Rows from the top, three bytes a pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<[u8; 3]>,
}

impl Image {
    pub fn filled(width: usize, height: usize, colour: [u8; 3]) -> Self {
        Self { width, height, pixels: vec![colour; width * height] }
    }

    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    /// Mix a display colour into a pixel; places outside the picture are ignored.
    pub fn blend(&mut self, x: i64, y: i64, colour: [u8; 3], alpha: f64) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 || alpha <= 0.0 {
            return;
        }
        let pixel = &mut self.pixels[y as usize * self.width + x as usize];
        for (under, over) in pixel.iter_mut().zip(colour) {
            let mixed = f64::from(*under) + (f64::from(over) - f64::from(*under)) * alpha.min(1.0);
            *under = mixed.round() as u8;
        }
    }

    /// Copy another picture in with its upper left corner at (x, y); what hangs over is cut off.
    pub fn paste(&mut self, other: &Image, x: usize, y: usize) {
        let width = other.width.min(self.width.saturating_sub(x));
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let to = (y + row) * self.width + x;
            let from = row * other.width;
            self.pixels[to..to + width].copy_from_slice(&other.pixels[from..from + width]);
        }
    }

    /// Write the picture as a PNG.
    pub fn write_png(&self, path: &Path) -> Result<()> {
        atomic::write_with(path, |file| {
            let mut writer = encoder(file, self).write_header()?;
            writer.write_image_data(self.pixels.as_flattened())?;
            Ok(writer.finish()?)
        })
    }

    /// Read a PNG that we wrote: three bytes a pixel.
    pub fn read_png(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
        let fault = |message: String| Error::Format {
            file: path.display().to_string(),
            place: "picture".into(),
            message,
        };
        let mut reader =
            png::Decoder::new(std::io::Cursor::new(bytes)).read_info().map_err(|e| fault(e.to_string()))?;
        let size = reader.output_buffer_size().filter(|n| *n <= 1 << 30);
        let mut data = vec![0; size.ok_or_else(|| fault("it is too large".into()))?];
        let info = reader.next_frame(&mut data).map_err(|e| fault(e.to_string()))?;
        if (info.color_type, info.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
            return Err(fault("it is not of three bytes a pixel".into()));
        }
        let pixels = data.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
        Ok(Self { width: info.width as usize, height: info.height as usize, pixels })
    }

    /// The bytes of a PNG.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let coded = encoder(&mut bytes, self).write_header().and_then(|mut writer| {
            writer.write_image_data(self.pixels.as_flattened())?;
            writer.finish()
        });
        coded.map_err(|e| Error::invalid("picture", e.to_string()))?;
        Ok(bytes)
    }

    /// The picture at 1/n of its size, each pixel the mean of n × n in linear light.
    pub fn shrunk(&self, n: usize) -> Image {
        let (width, height) = ((self.width / n).max(1), (self.height / n).max(1));
        let linear: Vec<f64> = (0..256).map(|b| linear(b as f64 / 255.0)).collect();
        let pixel = |i: usize| {
            let block = (0..n * n).map(|k| ((i % width) * n + k % n, (i / width) * n + k / n));
            let inside = block.filter(|(x, y)| *x < self.width && *y < self.height);
            let mut sum = [0.0; 4];
            for p in inside.map(|(x, y)| self.pixel(x, y)) {
                (0..3).for_each(|a| sum[a] += linear[p[a] as usize]);
                sum[3] += 1.0;
            }
            std::array::from_fn(|a| (srgb(sum[a] / sum[3]) * 255.0).round() as u8)
        };
        Image { width, height, pixels: (0..width * height).map(pixel).collect() }
    }
}

/// Light to display values: the transfer curve of IEC 61966-2-1.
pub fn srgb(linear: f64) -> f64 {
    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * pow(linear, 1.0 / 2.4) - 0.055 }
}

/// Display values to light, the inverse of [`srgb`].
fn linear(srgb: f64) -> f64 {
    if srgb <= 0.040_45 { srgb / 12.92 } else { pow((srgb + 0.055) / 1.055, 2.4) }
}

/// Write frames of one size as an animated PNG that shows `fps` of them a second, for ever.
pub fn write_animation(frames: &[Image], fps: f64, path: &Path) -> Result<()> {
    let first = frames.first().ok_or_else(|| Error::invalid("animation", "there are no frames"))?;
    if frames.iter().any(|f| (f.width, f.height) != (first.width, first.height)) {
        return Err(Error::invalid("animation", "the frames differ in size"));
    }
    let (numerator, denominator) = frame_delay(fps);
    atomic::write_with(path, |file| {
        let mut encoder = encoder(file, first);
        encoder.set_animated(frames.len() as u32, 0)?;
        encoder.set_frame_delay(numerator, denominator)?;
        let mut writer = encoder.write_header()?;
        frames.iter().try_for_each(|f| writer.write_image_data(f.pixels.as_flattened()))?;
        Ok(writer.finish()?)
    })
}

/// 1/fps seconds as a fraction of 16-bit numbers.
fn frame_delay(fps: f64) -> (u16, u16) {
    if fps.is_finite() && (0.01..=600.0).contains(&fps) {
        (100, (fps * 100.0).round() as u16)
    } else {
        (1, 24)
    }
}

fn encoder<'a, W: Write>(file: W, image: &Image) -> png::Encoder<'a, W> {
    let mut encoder = png::Encoder::new(file, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("meniscus-image-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn gradient(shift: usize) -> Image {
        let mut image = Image::filled(20, 10, [0; 3]);
        for (i, p) in image.pixels.iter_mut().enumerate() {
            *p = [(i + shift) as u8, (i / 2) as u8, 7];
        }
        image
    }

    #[test]
    fn a_written_picture_reads_back_the_same() {
        let folder = folder("png");
        let path = folder.join("a.png");
        gradient(0).write_png(&path).unwrap();
        let file = std::io::BufReader::new(File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        assert_eq!(bytes, gradient(0).pixels.as_flattened());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_animation_keeps_its_frames_and_its_speed() {
        let folder = folder("apng");
        let path = folder.join("a.png");
        let frames = [gradient(0), gradient(5), gradient(9)];
        write_animation(&frames, 24.0, &path).unwrap();
        let file = std::io::BufReader::new(File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
        for frame in &frames {
            let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut bytes).unwrap();
            assert_eq!(bytes, frame.pixels.as_flattened());
        }
        let control = reader.info().frame_control().unwrap();
        let delay = f64::from(control.delay_num) / f64::from(control.delay_den);
        assert!((delay - 1.0 / 24.0).abs() < 1e-12);
        assert!(write_animation(&[], 24.0, &path).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_checkerboard_shrinks_to_the_grey_of_its_light() {
        let mut image = Image::filled(6, 4, [0; 3]);
        (0..24).filter(|i| (i % 6 + i / 6) % 2 == 0).for_each(|i| image.pixels[i] = [255; 3]);
        // Half the light is 188 in sRGB, not 128.
        assert_eq!(image.shrunk(2), Image::filled(3, 2, [188; 3]));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = gradient(0).write_png(Path::new("no/such/folder/a.png")).unwrap_err().to_string();
        assert!(error.contains("no/such/folder"), "{error}");
    }
}
