//! Eight-bit pictures in sRGB, and how they reach a file.
//!
//! A picture is written beside its name and renamed when whole, so a reader never sees half a file.
//! Animations are APNG: every frame a full picture, shown for the same fraction of a second.

use meniscus::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
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
        write_whole(path, |file| {
            let mut writer = encoder(file, self).write_header()?;
            writer.write_image_data(self.pixels.as_flattened())
        })
    }
}

/// Write frames of one size as an animated PNG that shows `fps` of them a second, for ever.
pub fn write_animation(frames: &[Image], fps: f64, path: &Path) -> Result<()> {
    let first = frames.first().ok_or_else(|| Error::invalid("animation", "there are no frames"))?;
    if frames.iter().any(|f| (f.width, f.height) != (first.width, first.height)) {
        return Err(Error::invalid("animation", "the frames differ in size"));
    }
    let (numerator, denominator) = frame_delay(fps);
    write_whole(path, |file| {
        let mut encoder = encoder(file, first);
        encoder.set_animated(frames.len() as u32, 0)?;
        encoder.set_frame_delay(numerator, denominator)?;
        let mut writer = encoder.write_header()?;
        frames.iter().try_for_each(|f| writer.write_image_data(f.pixels.as_flattened()))
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

fn encoder<'a>(file: &'a mut BufWriter<File>, image: &Image) -> png::Encoder<'a, &'a mut BufWriter<File>> {
    let mut encoder = png::Encoder::new(file, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder
}

/// Write into `path` + ".part" and give it its name when it is complete.
fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), png::EncodingError>,
) -> Result<()> {
    let part = path.with_extension("png.part");
    let failed = |e: &std::io::Error| {
        let _ = std::fs::remove_file(&part);
        Error::io(path, e)
    };
    let mut file = BufWriter::new(File::create(&part).map_err(|e| Error::io(&part, &e))?);
    write(&mut file).map_err(|e| failed(&std::io::Error::other(e)))?;
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(|e| failed(&e))?;
    drop(file);
    std::fs::rename(&part, path).map_err(|e| failed(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!folder.join("a.png.part").exists());
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
    fn a_folder_that_is_not_there_is_named() {
        let error = gradient(0).write_png(Path::new("no/such/folder/a.png")).unwrap_err().to_string();
        assert!(error.contains("no/such/folder"), "{error}");
    }
}
