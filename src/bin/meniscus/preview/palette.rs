//! Colours for speed: dark blue at rest through green to warm white, ever lighter.

use super::image::Rgb;

const STOPS: [[f64; 3]; 6] = [
    [0.035, 0.06, 0.22],
    [0.03, 0.20, 0.42],
    [0.03, 0.42, 0.42],
    [0.25, 0.62, 0.22],
    [0.92, 0.68, 0.10],
    [1.0, 0.93, 0.72],
];

/// Linear colour for a share of the largest speed.
pub fn speed_colour(share: f64) -> Rgb {
    // A share that is not a number counts as rest.
    let share = if share > 0.0 { share.min(1.0) } else { 0.0 };
    let place = share * (STOPS.len() - 1) as f64;
    let low = (place as usize).min(STOPS.len() - 2);
    let [a, b] = [low, low + 1].map(|i| Rgb::from(STOPS[i]));
    a + (b - a) * (place - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faster_is_lighter() {
        let luminance = |s: f64| speed_colour(s).dot(&Rgb::new(0.2126, 0.7152, 0.0722));
        let steps: Vec<f64> = (0..=50).map(|i| luminance(f64::from(i) / 50.0)).collect();
        assert!(steps.windows(2).all(|w| w[1] > w[0]));
        assert_eq!(speed_colour(7.0), speed_colour(1.0));
        assert_eq!(speed_colour(f64::NAN), speed_colour(0.0));
    }
}
