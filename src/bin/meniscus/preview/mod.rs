//! `meniscus preview CACHE`: pictures of a simulation without a graphics card.
//!
//! cache → overview (camera, ground, scale) → for each frame: stage → rays → picture → caption →
//! stills, contact sheet, animation. [`render`] draws any scene in memory.

mod body;
pub(super) mod cache;
mod camera;
mod caption;
mod cells;
mod environment;
mod fog;
pub(super) mod font;
mod ground;
pub(super) mod image;
mod liquid_look;
mod optics;
mod overview;
mod palette;
mod render;
mod sampling;
mod selection;
mod sheet;
mod stage;
#[cfg(test)]
mod tests;
mod tiles;
mod trace;

pub use body::speeds;
pub use camera::{Camera, Projection};
pub use render::{Quality, render};
pub use stage::RenderScene;
pub use tiles::{Setting, pictures_of, setting_of};

use super::terminal::say;
use cache::Cache;
use caption::draw_speed_legend;
use cells::CellColour;
use image::{Image, write_animation};
use indicatif::{ProgressBar, ProgressStyle};
use liquid_look::liquid_look;
use meniscus::io::atomic::create_folder;
use meniscus::io::frame::frame_name;
use meniscus::{Cancel, Error, Result};
use overview::{Overview, WIDE};
use rayon::prelude::*;
use selection::{Selection, spread};
use stage::Shade;
use std::path::{Path, PathBuf};

/// Draw the frames of a cache: a contact sheet, pictures, an animation.
#[derive(Clone, Debug, clap::Args)]
pub struct PreviewArgs {
    /// The folder that `meniscus run` wrote
    pub cache: PathBuf,
    /// Frames to draw: 1-48, 7, 1-10,20 (-5..10 if there are negative ones, .. for all)
    #[arg(long, value_parser = Selection::parse, default_value = "..", allow_hyphen_values = true)]
    pub frames: Selection,
    /// Draw every n-th of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub every: usize,
    /// Write a picture of each frame, 0001.png and so on
    #[arg(long)]
    pub stills: bool,
    /// Write an animated PNG, animation.png
    #[arg(long)]
    pub animation: bool,
    /// Write no contact sheet, contact.png
    #[arg(long)]
    pub no_contact_sheet: bool,
    /// Frames on the contact sheet, evenly spread
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub tiles: usize,
    /// Pictures in a row of the contact sheet [default: about as many as rows]
    #[arg(long, value_name = "N")]
    pub columns: Option<usize>,
    /// Size of a picture [default: 960x540, or nearer to a square if the scene is as tall as it is wide]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    pub size: Option<[usize; 2]>,
    /// Time spent on a picture
    #[arg(long, value_enum, default_value_t = Quality::Good)]
    pub quality: Quality,
    /// How the liquid is painted
    #[arg(long, value_enum, default_value_t = ShadeChoice::Water)]
    pub shade: ShadeChoice,
    /// Speed of the lightest colour of `--shade speed`, m/s [default: the fastest of the liquid]
    #[arg(long, value_name = "SPEED")]
    pub top_speed: Option<f64>,
    /// Draw the cells instead, cut away in the middle, coloured by size or pressure; needs `outputs.cells`
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "size", value_name = "COLOUR")]
    pub cells: Option<CellColour>,
    /// Camera: where it stands, what it looks at, vertical angle of view [default: automatic]
    #[arg(long, value_name = "ex,ey,ez,tx,ty,tz[,fov]", value_parser = Camera::parse, allow_hyphen_values = true)]
    pub camera: Option<Camera>,
    /// Use the automatic camera of another cache, to compare the two
    #[arg(long, value_name = "CACHE", conflicts_with = "camera")]
    pub camera_from: Option<PathBuf>,
    /// Draw without perspective, this many metres from the foot of the picture to its top
    #[arg(long, value_name = "HEIGHT")]
    pub orthographic: Option<f64>,
    /// Height of the ground [default: the lowest point]
    #[arg(long, value_name = "Y", allow_hyphen_values = true)]
    pub ground: Option<f64>,
    /// Draw no ground
    #[arg(long, conflicts_with = "ground")]
    pub no_ground: bool,
    /// Where pictures go [default: CACHE/preview]
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// How the liquid is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ShadeChoice {
    /// As the liquid looks: clear water, golden honey, dark chocolate, or the colour `Cd` that it carries
    Water,
    /// Matte, to judge the shape
    Clay,
    /// Coloured by speed, with a legend
    Speed,
}

/// Width of a tile of the contact sheet and of an animation, at most.
const TILE_WIDTH: usize = 480;
const ANIMATION_WIDTH: usize = 640;

fn parse_size(text: &str) -> Result<[usize; 2], String> {
    let usage = "a size is WIDTHxHEIGHT, such as 960x540";
    let (width, height) = text.split_once(['x', 'X']).ok_or(usage)?;
    match (width.trim().parse(), height.trim().parse()) {
        (Ok(width), Ok(height)) if width > 0 && height > 0 => Ok([width, height]),
        _ => Err(usage.to_string()),
    }
}

/// Draw what was asked for and say where it is.
pub fn main(args: &PreviewArgs, stop: &Cancel) -> Result<()> {
    let cache = Cache::open(&args.cache)?;
    let frames = args.frames.of(&cache.manifest.frames, args.every)?;
    let studio = Studio::new(args, cache)?;
    say(&format!("camera   --camera={}", studio.camera.describe()));
    for path in studio.draw(args, &frames, stop)? {
        say(&format!("wrote    {}", path.display()));
    }
    Ok(())
}

/// A cache with everything that its frames have in common.
struct Studio {
    cache: Cache,
    overview: Overview,
    camera: Camera,
    size: [usize; 2],
    shade: Shade,
    tint: image::Rgb,
    ground: Option<f64>,
    quality: Quality,
    cells: Option<CellColour>,
}

impl Studio {
    fn new(args: &PreviewArgs, cache: Cache) -> Result<Self> {
        let overview = Overview::of(&cache)?;
        // The shape of a picture with another's camera is that of the other.
        let other = args.camera_from.as_ref().map(|c| Overview::of(&Cache::open(c)?)).transpose()?;
        let framed = other.as_ref().unwrap_or(&overview);
        let size = args.size.unwrap_or_else(|| if args.camera.is_some() { WIDE } else { framed.shape() });
        let camera = match args.camera {
            Some(camera) => camera,
            None => framed.camera(size[0] as f64 / size[1] as f64)?,
        };
        let camera = match args.orthographic {
            Some(height) if !(height > 0.0 && height.is_finite()) => {
                return Err(Error::invalid(
                    "--orthographic",
                    "the height must be a positive number of metres",
                ));
            }
            Some(height) => Camera { projection: Projection::Orthographic { height }, ..camera },
            None => camera,
        };
        let number = |name: &str, value: Option<f64>| match value {
            Some(v) if !v.is_finite() => Err(Error::invalid(name, "must be a finite number")),
            value => Ok(value),
        };
        let top_speed = number("--top-speed", args.top_speed)?.unwrap_or(overview.top_speed);
        if top_speed <= 0.0 {
            return Err(Error::invalid("--top-speed", "must be more than 0"));
        }
        let ground = number("--ground", args.ground)?.unwrap_or(overview.ground);
        let (own_shade, tint) = liquid_look(&cache.folder);
        let shade = match args.shade {
            _ if args.cells.is_some() => Shade::Speed { max: 1.0 },
            ShadeChoice::Water if overview.coloured => Shade::Carried,
            ShadeChoice::Water => own_shade,
            ShadeChoice::Clay => Shade::CLAY,
            ShadeChoice::Speed => Shade::Speed { max: top_speed },
        };
        let ground = (!args.no_ground).then_some(ground);
        let (quality, cells) = (args.quality, args.cells);
        Ok(Self { cache, overview, camera, size, shade, tint, ground, quality, cells })
    }

    /// Write all that was asked for; returns the files.
    fn draw(&self, args: &PreviewArgs, frames: &[i64], stop: &Cancel) -> Result<Vec<PathBuf>> {
        if args.animation {
            check_animation(self.size, frames.len())?;
        }
        let folder = args.output.clone().unwrap_or_else(|| args.cache.join("preview"));
        create_folder(&folder)?;
        let on_sheet = if args.no_contact_sheet { Vec::new() } else { spread(frames, args.tiles) };
        let drawn = if args.stills || args.animation {
            self.draw_every(args, frames, &on_sheet, &folder, stop)?
        } else {
            Drawn { tiles: self.draw_tiles(&on_sheet, TILE_WIDTH, stop)?, ..Drawn::default() }
        };
        let mut written = drawn.written;
        if args.animation {
            let path = folder.join("animation.png");
            let fps = self.cache.manifest.fps.value() / args.every.max(1) as f64;
            write_animation(&drawn.moving, fps, &path)?;
            written.push(path);
        }
        if !drawn.tiles.is_empty() {
            let path = folder.join("contact.png");
            let columns = args.columns.unwrap_or(sheet::columns(drawn.tiles.len()));
            sheet::contact_sheet(&drawn.tiles, columns)?.write_png(&path)?;
            written.push(path);
        }
        Ok(written)
    }

    /// Draw only the tiles of a contact sheet, at most so wide.
    fn draw_tiles(&self, frames: &[i64], width: usize, stop: &Cancel) -> Result<Vec<Image>> {
        let shrink = self.size[0].div_ceil(width);
        let size = self.size.map(|s| (s / shrink).max(1));
        let bar = progress(frames.len());
        let tile = |frame: &i64| {
            stop.check()?;
            self.picture(*frame, size).inspect(|_| bar.inc(1))
        };
        let tiles = frames.par_iter().map(tile).collect();
        bar.finish_and_clear();
        tiles
    }

    /// Draw all frames at full size; tiles and animation are made of them.
    fn draw_every(
        &self,
        args: &PreviewArgs,
        frames: &[i64],
        on_sheet: &[i64],
        folder: &Path,
        stop: &Cancel,
    ) -> Result<Drawn> {
        let bar = progress(frames.len());
        let picture = |frame: &i64| {
            stop.check()?;
            let image = self.picture(*frame, self.size)?;
            let path = folder.join(frame_name(*frame) + ".png");
            if args.stills {
                image.write_png(&path)?;
            }
            bar.inc(1);
            Ok((path, image))
        };
        let mut drawn = Drawn::default();
        // A few frames at a time keep all threads busy while one of them writes its file.
        for some in frames.chunks(rayon::current_num_threads().max(1)) {
            let pictures: Vec<(PathBuf, Image)> = some.par_iter().map(picture).collect::<Result<_>>()?;
            for (frame, (path, image)) in some.iter().zip(pictures) {
                drawn.written.extend(args.stills.then_some(path));
                let small = |most: usize| image.shrunk(image.width.div_ceil(most));
                drawn.tiles.extend(on_sheet.contains(frame).then(|| small(TILE_WIDTH)));
                drawn.moving.extend(args.animation.then(|| small(ANIMATION_WIDTH)));
            }
        }
        bar.finish_and_clear();
        Ok(drawn)
    }

    /// One frame with its caption.
    fn picture(&self, frame: i64, size: [usize; 2]) -> Result<Image> {
        let mut content = self.cache.frame(frame)?;
        if let Some(colour) = self.cells {
            let domain = self.cache.domain().unwrap_or(self.overview.bounds);
            content.surface = cells::cut_away(&self.cache.cells_file(frame)?, &domain, colour)?;
        }
        let scene = RenderScene {
            surface: Some(&content.surface),
            colliders: &content.colliders,
            ground: self.ground,
            camera: self.camera,
            shade: self.shade,
            tint: self.tint,
            tint_depth: 0.35 * self.overview.bounds.size().norm().max(1e-9),
            touch: 1.5 * self.cache.manifest.cell,
            bounds: self.overview.bounds,
            fog: content.fog.as_ref(),
        };
        let mut image = render(&scene, size, self.quality)?;
        content.caption.draw(&mut image);
        if let (Shade::Speed { max }, None) = (self.shade, self.cells) {
            draw_speed_legend(&mut image, max);
        }
        Ok(image)
    }
}

/// The frames of an animation are held until it is written; more than this is refused.
const ANIMATION_BYTES: usize = 2_000_000_000;

fn check_animation(size: [usize; 2], frames: usize) -> Result<()> {
    let shrink = size[0].div_ceil(ANIMATION_WIDTH);
    let bytes = (size[0] / shrink).saturating_mul(size[1] / shrink).saturating_mul(3).saturating_mul(frames);
    if bytes <= ANIMATION_BYTES {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("an animation of {frames} frames"),
        needed_mb: bytes as u64 / 1_000_000,
        limit_mb: ANIMATION_BYTES as u64 / 1_000_000,
        fix: "choose fewer with --frames or --every".to_string(),
    })
}

/// What has been drawn so far.
#[derive(Default)]
struct Drawn {
    written: Vec<PathBuf>,
    tiles: Vec<Image>,
    moving: Vec<Image>,
}

fn progress(count: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("drawing  {bar:32} {pos}/{len} pictures, {eta} left");
    ProgressBar::new(count as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
