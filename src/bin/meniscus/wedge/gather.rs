//! `meniscus gather`: the contact sheets of all tasks of a wedge on one.

use super::super::preview::font::draw_text;
use super::super::preview::image::Image;
use super::super::terminal::say;
use clap::Args;
use meniscus::io::cache::Manifest;
use meniscus::{Error, Result};
use std::path::{Path, PathBuf};

/// Put the contact sheets of all caches in a folder on one, in the order of their names.
#[derive(Args, Clone, Debug)]
pub struct GatherArgs {
    /// The folder with the caches of a wedge, each with a preview
    pub folder: PathBuf,
    /// The sheet to write [default: FOLDER/contact.png]
    #[arg(short, long, value_name = "FILE.png")]
    pub out: Option<PathBuf>,
}

/// Height of the strip with a task's name, and the gap below its pictures.
const STRIP: usize = 26;
const GAP: usize = 8;

pub fn gather(args: &GatherArgs) -> Result<()> {
    let caches = caches(&args.folder)?;
    let mut rows = Vec::new();
    for cache in &caches {
        let manifest = Manifest::read(cache)?;
        let whole = manifest.range[1].saturating_sub(manifest.range[0]).saturating_add(1);
        if (manifest.frames.len() as i64) < whole {
            let message =
                format!("only {} of {whole} frames are there: run its task again", manifest.frames.len());
            return Err(Error::invalid(cache.display().to_string(), message));
        }
        let picture = cache.join("preview/contact.png");
        if !picture.exists() {
            let message = "it has no contact sheet yet: run meniscus preview on the cache first";
            return Err(Error::invalid(picture.display().to_string(), message));
        }
        let name = cache.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        rows.push((name, Image::read_png(&picture)?));
    }
    let out = args.out.clone().unwrap_or_else(|| args.folder.join("contact.png"));
    stack(&rows).write_png(&out)?;
    say(&format!("{} tasks in {}", rows.len(), out.display()));
    Ok(())
}

/// Folders with a manifest, in the order of their names.
fn caches(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, &e))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.join("manifest.json").is_file()).collect();
    found.sort();
    match found.is_empty() {
        true => Err(Error::invalid(folder.display().to_string(), "there is no cache in it")),
        false => Ok(found),
    }
}

fn stack(rows: &[(String, Image)]) -> Image {
    let width = rows.iter().map(|r| r.1.width).max().unwrap_or(1);
    let height = rows.iter().map(|r| r.1.height + STRIP + GAP).sum::<usize>().max(1);
    let mut sheet = Image::filled(width, height, [24, 25, 27]);
    let mut y = 0;
    for (name, image) in rows {
        let words = name.replace('_', "  ").replace('=', " = ");
        draw_text(&mut sheet, &words, 8.0, y as f64 + 5.0, 15.0, [214, 218, 224]);
        sheet.paste(image, 0, y + STRIP);
        y += image.height + STRIP + GAP;
    }
    sheet
}
