//! Pictures of a cache for pages: a few small ones, or one large.

use super::cache::Cache;
use super::image::Image;
use super::selection::{Selection, spread};
use super::stage::Shade;
use super::{Camera, PreviewArgs, Quality, ShadeChoice, Studio};
use meniscus::math::Aabb;
use meniscus::{Cancel, Result};
use std::path::Path;

impl PreviewArgs {
    /// What `meniscus preview CACHE` does without further words.
    pub fn of(cache: &Path) -> Self {
        PreviewArgs {
            cache: cache.into(),
            frames: Selection::default(),
            every: 1,
            stills: false,
            animation: false,
            no_contact_sheet: false,
            tiles: 12,
            columns: None,
            size: None,
            quality: Quality::Good,
            shade: ShadeChoice::Water,
            top_speed: None,
            cells: None,
            camera: None,
            camera_from: None,
            orthographic: None,
            ground: None,
            no_ground: false,
            output: None,
        }
    }
}

/// Small pictures of up to `count` frames, evenly spread, and a wide one of a single frame.
pub struct Pictures {
    pub small: Vec<(i64, Image)>,
    pub wide: Option<Image>,
}

/// Pictures for a page about a cache.
pub fn pictures_of(
    cache: &Path,
    count: usize,
    wide: Option<i64>,
    quality: Quality,
    stop: &Cancel,
) -> Result<Pictures> {
    let open = |size| {
        let args = PreviewArgs { quality, size, ..PreviewArgs::of(cache) };
        Studio::new(&args, Cache::open(cache)?)
    };
    let studio = open(None)?;
    let frames = spread(&studio.cache.manifest.frames, count);
    let images = studio.draw_tiles(&frames, PAGE_TILE, stop)?;
    stop.check()?;
    let wide = wide.map(|frame| open(Some(PAGE_WIDE))?.picture(frame, PAGE_WIDE)).transpose()?;
    Ok(Pictures { small: frames.into_iter().zip(images).collect(), wide })
}

/// Width of a small picture on a page, at most, and the size of a wide one.
const PAGE_TILE: usize = 330;
const PAGE_WIDE: [usize; 2] = [1056, 440];

/// What the pictures of a cache have in common, for viewers.
pub struct Setting {
    pub camera: Camera,
    pub bounds: Aabb,
    pub ground: f64,
    /// The fastest of the liquid, m/s.
    pub top_speed: f64,
    /// Linear colour of the liquid.
    pub colour: [f64; 3],
    /// Whether it is seen through.
    pub clear: bool,
}

/// Where a viewer begins to look at a cache.
pub fn setting_of(cache: &Path) -> Result<Setting> {
    let studio = Studio::new(&PreviewArgs::of(cache), Cache::open(cache)?)?;
    let (colour, clear) = match studio.shade {
        Shade::Paint(colour) => (colour, false),
        _ => (studio.tint, true),
    };
    Ok(Setting {
        camera: studio.camera,
        bounds: studio.overview.bounds,
        ground: studio.overview.ground,
        top_speed: studio.overview.top_speed,
        colour: colour.into(),
        clear,
    })
}
