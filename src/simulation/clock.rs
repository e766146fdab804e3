//! How a frame is cut into substeps.
//!
//! Each substep may be as long as the limits allow; the rest of the frame is cut into equal parts of
//! at most that length, so the last one is never a splinter. There is no cap unless the scene sets
//! one: a cap makes fast liquid wrong, not fast.

use super::report::Limit;

/// Above this many substeps a frame the user is told.
pub const MANY_SUBSTEPS: u32 = 60;

/// Cuts one frame into substeps.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Seconds of the frame, and those still to go.
    length: f64,
    left: f64,
    done: u32,
    least: u32,
    /// 0 for no cap.
    most: u32,
    rule: &'static str,
    shortest: f64,
}

impl Clock {
    pub fn new(length: f64, least: u32, most: u32) -> Self {
        Self {
            length,
            left: length,
            done: 0,
            least: least.max(1),
            most,
            rule: "frame",
            shortest: f64::INFINITY,
        }
    }

    /// A frame that was left before its end, as numbers: seconds, seconds to go, substeps, shortest.
    pub fn state(&self) -> [f64; 4] {
        [self.length, self.left, self.done as f64, self.shortest]
    }

    /// The clock of a frame that was left before its end; None if the numbers cannot be.
    pub fn resume(state: [f64; 4], least: u32, most: u32) -> Option<Self> {
        let [length, left, done, shortest] = state;
        let sound = length.is_finite() && (0.0..=length).contains(&left) && shortest > 0.0 && done >= 0.0;
        sound.then(|| Self { left, done: done as u32, shortest, ..Self::new(length, least, most) })
    }

    /// Length of the next substep; None when the frame is complete.
    pub fn next(&mut self, limits: &[Limit]) -> Option<f64> {
        // Below this the rest of the frame is rounding.
        if self.left <= 1e-12 * self.length || self.length <= 0.0 {
            return None;
        }
        let frame = Limit { dt: self.length / self.least as f64, rule: "minimum substeps" };
        let tightest = limits.iter().fold(frame, |a, b| if b.dt < a.dt { *b } else { a });
        let mut parts = (self.left / tightest.dt * (1.0 - 1e-9)).ceil().clamp(1.0, 1e9);
        if self.most > 0 {
            parts = parts.min((self.most.saturating_sub(self.done)).max(1) as f64);
        }
        let dt = self.left / parts;
        if dt < self.shortest {
            self.shortest = dt;
            self.rule = if dt >= self.length * (1.0 - 1e-9) { "frame" } else { tightest.rule };
        }
        Some(dt)
    }

    /// A substep of `dt` seconds has been done.
    pub fn advance(&mut self, dt: f64) {
        self.done += 1;
        self.left = if self.left - dt <= 1e-12 * self.length { 0.0 } else { self.left - dt };
    }

    /// Share of the frame that is done.
    pub fn fraction(&self) -> f64 {
        if self.length > 0.0 { 1.0 - self.left / self.length } else { 1.0 }
    }

    pub fn substeps(&self) -> u32 {
        self.done
    }

    /// The rule that made the shortest substep.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(clock: &mut Clock, limit: f64) -> Vec<f64> {
        let mut steps = Vec::new();
        while let Some(dt) = clock.next(&[Limit { dt: limit, rule: "speed" }]) {
            steps.push(dt);
            clock.advance(dt);
        }
        steps
    }

    #[test]
    fn a_frame_is_cut_into_equal_parts() {
        let steps = run(&mut Clock::new(1.0, 1, 0), 0.3);
        assert_eq!(steps.len(), 4);
        assert!(steps.iter().all(|s| (s - 0.25).abs() < 1e-12));
        assert!((steps.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_clock_says_which_rule_forced_it() {
        let mut clock = Clock::new(1.0, 1, 0);
        run(&mut clock, 2.0);
        assert_eq!((clock.rule(), clock.substeps()), ("frame", 1));
        let mut clock = Clock::new(1.0, 4, 0);
        run(&mut clock, 0.5);
        assert_eq!((clock.rule(), clock.substeps()), ("minimum substeps", 4));
        let mut clock = Clock::new(1.0, 1, 3);
        run(&mut clock, 0.01);
        assert_eq!((clock.rule(), clock.substeps()), ("speed", 3));
    }

    #[test]
    fn a_frozen_frame_has_no_substeps() {
        assert_eq!(Clock::new(0.0, 1, 0).next(&[]), None);
    }
}
