//! The number of a particle, which is never used twice, in six bytes.
//!
//! Ids are told apart and put in order far more often than they are looked at, and a frame of ten million particles holds
//! them twice. 2⁴⁸ last for a thousand frames of a quarter of a million million new particles each.

/// The number of a particle. In the order of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id([u16; 3]);

impl Id {
    /// Numbers are below this.
    pub const END: u64 = 1 << 48;

    /// The id with a number below [`Id::END`].
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self([(number >> 32) as u16, (number >> 16) as u16, number as u16])
    }

    #[inline]
    pub const fn number(self) -> u64 {
        (self.0[0] as u64) << 32 | (self.0[1] as u64) << 16 | self.0[2] as u64
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.number().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_they_were_made_of_and_keep_its_order() {
        let numbers = [0, 1, 65535, 65536, 70000, 1 << 32, (1 << 32) + 65537, Id::END - 1];
        assert!(numbers.iter().all(|n| Id::new(*n).number() == *n));
        assert!(numbers.windows(2).all(|w| Id::new(w[0]) < Id::new(w[1])));
        assert_eq!((size_of::<Id>(), Id::new(70000).to_string()), (6, "70000".into()));
    }
}
