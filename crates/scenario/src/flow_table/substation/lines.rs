//! Finds the line of a place in a long text, without reading the text again.

use crate::problem::TextSpan;

/// Where the lines of a text begin.
pub(super) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate();
        let behind = breaks
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(behind).collect();
        Self { starts }
    }

    /// Returns the line, from 1, in which a byte stands.
    pub(super) fn line_of(&self, byte: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= byte);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// Returns the character at a row and a column, both from 1.
    pub(super) fn place(&self, text: &str, row: u32, column: u32) -> TextSpan {
        let index = |number: u32| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        let start = self.starts.get(index(row)).copied().unwrap_or(text.len());
        let mut characters = text[start..].char_indices().map(|(at, c)| (start + at, c));
        match characters.nth(index(column)) {
            Some((at, c)) => at..at + c.len_utf8(),
            None => text.len()..text.len(),
        }
    }
}
