//! The columns of numbers that particles carry besides what moves them.

use crate::error::{Error, Result};

/// Where in the row of a particle a named value stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub width: usize,
    pub start: usize,
}

/// All columns of a simulation, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns(Vec<Column>);

impl Columns {
    /// Make sure that there is a column; `who` asks for it. One that exists with another width is an error.
    pub fn add(&mut self, name: &str, width: usize, who: &str) -> Result<()> {
        match self.find(name) {
            Some(known) if known.width == width => Ok(()),
            Some(known) => {
                let message = format!(
                    "attribute {name} has width {width} here and {} elsewhere; give all the same",
                    known.width
                );
                Err(Error::geometry(who, message))
            }
            None => {
                let start = self.stride();
                self.0.push(Column { name: name.to_string(), width, start });
                Ok(())
            }
        }
    }

    pub fn find(&self, name: &str) -> Option<&Column> {
        self.0.iter().find(|c| c.name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Column> {
        self.0.iter()
    }

    /// Numbers in a row.
    pub fn stride(&self) -> usize {
        self.0.last().map_or(0, |c| c.start + c.width)
    }

    /// The row of liquid whose source says nothing: white, of its liquid's viscosity, and else 0.
    pub fn blank(&self) -> Vec<f32> {
        let value = |c: &Column| match c.name.as_str() {
            "Cd" | "color" => 1.0,
            "viscosity" => f32::NAN,
            _ => 0.0,
        };
        self.0.iter().flat_map(|c| std::iter::repeat_n(value(c), c.width)).collect()
    }
}
