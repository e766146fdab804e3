//! Contact sheets: pictures of one size in rows and columns.

use super::image::Image;
use meniscus::{Error, Result};

/// Pixels between two pictures.
const GAP: usize = 4;

/// Columns that suit a number of pictures: about as many as rows for wide ones.
pub fn columns(count: usize) -> usize {
    match count {
        0..=3 => count.max(1),
        4 => 2,
        5..=9 => 3,
        10..=16 => 4,
        _ => (count as f64).sqrt().ceil() as usize,
    }
}

/// Put pictures of one size side by side, row after row.
pub fn contact_sheet(tiles: &[Image], columns: usize) -> Result<Image> {
    let first = tiles.first().ok_or_else(|| Error::invalid("contact sheet", "there are no pictures"))?;
    let (width, height) = (first.width, first.height);
    if tiles.iter().any(|t| (t.width, t.height) != (width, height)) {
        return Err(Error::invalid("contact sheet", "the pictures differ in size"));
    }
    let columns = columns.clamp(1, tiles.len());
    let rows = tiles.len().div_ceil(columns);
    let span = |n: usize, size: usize| n * size + (n - 1) * GAP;
    let mut sheet = Image::filled(span(columns, width), span(rows, height), [24, 25, 27]);
    for (i, tile) in tiles.iter().enumerate() {
        sheet.paste(tile, (i % columns) * (width + GAP), (i / columns) * (height + GAP));
    }
    Ok(sheet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_left_empty() {
        for count in 1..200 {
            let across = columns(count);
            assert!(across <= count && count.div_ceil(across) * across - count < across);
        }
        assert_eq!([1, 4, 6, 12, 16].map(columns), [1, 2, 3, 4, 4]);
    }

    #[test]
    fn pictures_stand_in_reading_order() {
        let tiles: Vec<Image> = (0..5).map(|i| Image::filled(10, 6, [40 * i; 3])).collect();
        let sheet = contact_sheet(&tiles, 3).unwrap();
        assert_eq!((sheet.width, sheet.height), (3 * 10 + 2 * GAP, 2 * 6 + GAP));
        assert_eq!(sheet.pixel(0, 0), [0; 3]);
        assert_eq!(sheet.pixel(2 * (10 + GAP), 0), [80; 3]);
        assert_eq!(sheet.pixel(10 + GAP, 6 + GAP), [160; 3]);
        assert!(contact_sheet(&[], 3).is_err());
        assert!(contact_sheet(&[Image::filled(1, 1, [0; 3]), Image::filled(2, 1, [0; 3])], 2).is_err());
    }
}
