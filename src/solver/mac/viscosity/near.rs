//! Any numbers of a tile and of one layer of cells round it.

use crate::grid::{NONE, SIDE, Tiles};

/// Values of a tile and the cells that touch it, 10×10×10.
pub(super) struct Near<T>(Vec<T>);

impl<T: Copy + Default> Default for Near<T> {
    fn default() -> Self {
        Self(vec![T::default(); 1000])
    }
}

impl<T: Copy + Default> Near<T> {
    #[inline(always)]
    pub(super) fn get(&self, [x, y, z]: [isize; 3]) -> T {
        self.0[(((z + 1) * 10 + y + 1) * 10 + x + 1) as usize]
    }

    /// What a function makes of the values of another.
    pub(super) fn set<S>(&mut self, from: &Near<S>, of: impl Fn(&S) -> T) {
        self.0.iter_mut().zip(&from.0).for_each(|(to, from)| *to = of(from));
    }

    /// Whether some value passes the test.
    pub(super) fn any(&self, test: impl FnMut(&T) -> bool) -> bool {
        self.0.iter().any(test)
    }

    /// Copy tile t of a field and what is round it; the default where no tile exists, and above and
    /// below a grid one cell thick.
    pub(super) fn load(&mut self, tiles: &Tiles, field: &[T], t: usize) {
        let (s, d, v) = (SIDE as isize, tiles.depth() as isize, tiles.volume());
        for z in -1..=d {
            for y in -1..=s {
                let to = (((z + 1) * 10 + y + 1) * 10) as usize;
                let (ty, tz) = (y.div_euclid(s), z.div_euclid(d));
                let row = ((z.rem_euclid(d) * s + y.rem_euclid(s)) * s) as usize;
                let part = |dx: i32| match tiles.neighbour(t, dx, ty as i32, tz as i32) {
                    n if n == NONE || (tiles.is_flat() && tz != 0) => None,
                    n => Some(n as usize * v + row),
                };
                self.0[to] = part(-1).map_or(T::default(), |p| field[p + SIDE - 1]);
                match part(0) {
                    None => self.0[to + 1..to + 1 + SIDE].fill(T::default()),
                    Some(p) => self.0[to + 1..to + 1 + SIDE].copy_from_slice(&field[p..p + SIDE]),
                }
                self.0[to + 1 + SIDE] = part(1).map_or(T::default(), |p| field[p]);
            }
        }
    }
}
