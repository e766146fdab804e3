//! Plots with logarithmic axes: lines with dots, rings for reference values, a grid of powers of ten.

use super::preview::font::{draw_text, text_width};
use super::preview::image::Image;

/// One quantity: a line through dots, and rings to compare it with.
pub struct Series {
    pub name: String,
    pub line: Vec<(f64, f64)>,
    pub rings: Vec<(f64, f64)>,
}

/// One pair of axes.
pub struct Panel {
    pub title: String,
    pub series: Vec<Series>,
}

/// Panels beside each other.
pub struct Plot {
    pub x_name: String,
    pub panels: Vec<Panel>,
}

const SIZE: (usize, usize) = (760, 620);
/// Left, right, top and bottom margins of a panel.
const MARGINS: [f64; 4] = [74.0, 20.0, 56.0, 70.0];
/// With more values than this along the axis, lines are drawn at round ones.
const MOST_GRIDS: usize = 12;
const INK: [u8; 3] = [40, 44, 52];
const GRID: [u8; 3] = [224, 226, 230];
const COLOURS: [[u8; 3]; 9] = [
    [31, 96, 170],
    [205, 92, 30],
    [36, 140, 80],
    [170, 40, 80],
    [120, 85, 175],
    [140, 110, 30],
    [20, 140, 150],
    [90, 90, 90],
    [200, 60, 160],
];

impl Plot {
    pub fn draw(&self) -> Image {
        let mut image = Image::filled(SIZE.0 * self.panels.len().max(1), SIZE.1, [255; 3]);
        for (i, panel) in self.panels.iter().enumerate() {
            panel.draw(&mut image, (i * SIZE.0) as f64, &self.x_name);
        }
        image
    }
}

/// From values to pixels.
struct Axes {
    x: [f64; 2],
    y: [f64; 2],
    left: f64,
}

impl Axes {
    /// Round bounds for all values of a panel; none if there is nothing to draw.
    fn of(panel: &Panel, left: f64) -> Option<Self> {
        let points = || panel.series.iter().flat_map(|s| s.line.iter().chain(&s.rings));
        let positive = || points().filter(|p| p.0 > 0.0 && p.1 > 0.0 && p.1.is_finite());
        let bounds = |value: fn(&(f64, f64)) -> f64| {
            positive().map(|p| value(p).log10()).fold([f64::MAX, f64::MIN], |b, v| [b[0].min(v), b[1].max(v)])
        };
        positive().next()?;
        let (x, y) = (bounds(|p| p.0), bounds(|p| p.1));
        Some(Self {
            x: [x[0] - 0.12, x[1] + 0.12],
            y: [y[0].floor(), y[1].ceil().max(y[0].floor() + 1.0)],
            left,
        })
    }

    fn pixel(&self, (x, y): (f64, f64)) -> [f64; 2] {
        let part = |v: f64, [low, high]: [f64; 2]| (v.log10() - low) / (high - low);
        let (width, height) =
            (SIZE.0 as f64 - MARGINS[0] - MARGINS[1], SIZE.1 as f64 - MARGINS[2] - MARGINS[3]);
        [self.left + MARGINS[0] + part(x, self.x) * width, MARGINS[2] + (1.0 - part(y, self.y)) * height]
    }
}

impl Panel {
    fn draw(&self, image: &mut Image, left: f64, x_name: &str) {
        draw_text(image, &self.title, left + MARGINS[0], 16.0, 18.0, INK);
        let Some(axes) = Axes::of(self, left) else { return };
        self.draw_grid(image, &axes);
        let middle = left + 0.5 * (SIZE.0 as f64 + MARGINS[0] - MARGINS[1]);
        draw_text(image, x_name, middle - 0.5 * text_width(x_name, 13.0), SIZE.1 as f64 - 28.0, 13.0, INK);
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let good = |p: &&(f64, f64)| p.0 > 0.0 && p.1 > 0.0 && p.1.is_finite();
            let line: Vec<[f64; 2]> = series.line.iter().filter(good).map(|p| axes.pixel(*p)).collect();
            line.windows(2).for_each(|w| segment(image, [w[0], w[1]], 1.0, *colour));
            line.iter().for_each(|p| segment(image, [*p, *p], 3.2, *colour));
            series.rings.iter().filter(good).for_each(|p| ring(image, axes.pixel(*p), *colour));
        }
        self.draw_legend(image, left);
    }

    fn draw_grid(&self, image: &mut Image, axes: &Axes) {
        let (x, y) = (axes.x.map(|v| 10f64.powf(v)), axes.y.map(|v| 10f64.powf(v)));
        for power in axes.y[0] as i32..=axes.y[1] as i32 {
            let value = 10f64.powi(power);
            let ends = [axes.pixel((x[0], value)), axes.pixel((x[1], value))];
            segment(image, ends, 0.6, GRID);
            let name = format!("1e{power}");
            draw_text(image, &name, ends[0][0] - 10.0 - text_width(&name, 13.0), ends[0][1] - 6.0, 13.0, INK);
        }
        let mut grids: Vec<f64> = self.series.iter().flat_map(|s| s.line.iter().map(|p| p.0)).collect();
        grids.sort_by(f64::total_cmp);
        grids.dedup();
        if grids.len() > MOST_GRIDS {
            let steps = (axes.x[0].floor() as i32..=axes.x[1] as i32).flat_map(|p| [1, 2, 5].map(|m| (m, p)));
            grids = steps.map(|(m, p)| f64::from(m) * 10f64.powi(p)).collect();
            grids.retain(|g| *g > x[0] && *g < x[1]);
        }
        for n in grids {
            let ends = [axes.pixel((n, y[0])), axes.pixel((n, y[1]))];
            segment(image, ends, 0.6, GRID);
            let name = format!("{}", (n * 1e6).round() / 1e6);
            draw_text(image, &name, ends[0][0] - 0.5 * text_width(&name, 13.0), ends[0][1] + 8.0, 13.0, INK);
        }
    }

    fn draw_legend(&self, image: &mut Image, left: f64) {
        let (mut x, mut y) = (left + MARGINS[0], 47.0);
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let width = 36.0 + text_width(&series.name, 13.0);
            // What does not fit goes below, over the plot.
            if x + width > left + SIZE.0 as f64 && x > left + MARGINS[0] {
                (x, y) = (left + MARGINS[0], y + 18.0);
            }
            segment(image, [[x, y], [x + 16.0, y]], 1.4, *colour);
            draw_text(image, &series.name, x + 22.0, y - 7.0, 13.0, *colour);
            x += width;
        }
    }
}

/// A round line from one point to the other.
fn segment(image: &mut Image, [a, b]: [[f64; 2]; 2], radius: f64, colour: [u8; 3]) {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let length = dx * dx + dy * dy;
    paint(image, a, b, radius, colour, |x, y| {
        let t =
            if length > 0.0 { (((x - a[0]) * dx + (y - a[1]) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
        (x - a[0] - t * dx).hypot(y - a[1] - t * dy) - radius
    });
}

fn ring(image: &mut Image, at: [f64; 2], colour: [u8; 3]) {
    paint(image, at, at, 8.0, colour, |x, y| ((x - at[0]).hypot(y - at[1]) - 6.5).abs() - 0.8);
}

/// Cover the pixels within half a pixel of a distance of zero, and those inside.
fn paint(
    image: &mut Image,
    a: [f64; 2],
    b: [f64; 2],
    reach: f64,
    colour: [u8; 3],
    distance: impl Fn(f64, f64) -> f64,
) {
    let range =
        |p: f64, q: f64| (p.min(q) - reach - 1.0).floor() as i64..=(p.max(q) + reach + 1.0).ceil() as i64;
    for y in range(a[1], b[1]) {
        for x in range(a[0], b[0]) {
            let cover = 0.5 - distance(x as f64 + 0.5, y as f64 + 0.5);
            image.blend(x, y, colour, cover.clamp(0.0, 1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_shows_its_lines_and_survives_numbers_that_cannot_be_drawn() {
        let line = vec![(16.0, 0.1), (32.0, 0.05), (64.0, 0.0), (128.0, f64::NAN)];
        let series = Series { name: "p".into(), rings: vec![(16.0, 0.1)], line };
        let empty = Panel { title: "nothing".into(), series: Vec::new() };
        let plot = Plot {
            x_name: "n".into(),
            panels: vec![Panel { title: "p".into(), series: vec![series] }, empty],
        };
        let image = plot.draw();
        assert!(image.pixels.contains(&COLOURS[0]));
    }
}
