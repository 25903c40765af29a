//! Splits a table into its records and fields (RFC 4180).
//!
//! Fields are separated by the one of `,`, `;` and the tabulator that occurs
//! most in the first line. A field in quotes may contain separators, line breaks
//! and doubled quotes. Lines end in LF or CR LF. A mark of the byte order at the
//! beginning, empty lines and lines that begin with `#` are passed over.

use std::borrow::Cow;

use crate::mistake::Mistake;
use crate::problem::TextSpan;

/// The most columns of a table.
pub(super) const MOST_COLUMNS: usize = 64;

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CsvRow<'a> {
    /// The line in which it begins, from 1.
    pub(super) line: u32,
    /// Its fields, without quotes and surrounding spaces.
    pub(super) fields: Vec<Field<'a>>,
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) place: TextSpan,
}

/// Reads a table row by row.
pub(super) struct Rows<'a> {
    text: &'a str,
    separator: u8,
    at: usize,
    line: u32,
}

impl<'a> Rows<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut rows = Self {
            text,
            separator: b',',
            at,
            line: 1,
        };
        rows.skip_lines_without_fields();
        rows.separator = separator(rows.rest().lines().next().unwrap_or_default());
        rows
    }

    /// Returns the next row.
    ///
    /// # Errors
    ///
    /// What is wrong with its quotes, and where; nothing after it can be read
    /// for sure.
    pub(super) fn next(&mut self) -> Result<Option<CsvRow<'a>>, (TextSpan, Mistake)> {
        self.skip_lines_without_fields();
        if self.rest().is_empty() {
            return Ok(None);
        }
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            fields.push(self.field()?);
            if fields.len() > MOST_COLUMNS {
                let mistake = Mistake::TooMany {
                    what: "columns",
                    count: fields.len(),
                    limit: MOST_COLUMNS,
                };
                return Err((fields[MOST_COLUMNS].place.clone(), mistake));
            }
            if !self.take(self.separator) {
                break;
            }
        }
        self.take(b'\r');
        if self.take(b'\n') {
            self.line += 1;
        }
        Ok(Some(CsvRow { line, fields }))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn skip_lines_without_fields(&mut self) {
        while !self.rest().is_empty() {
            let line = self.rest().split_inclusive('\n').next().unwrap_or_default();
            if !line.trim().is_empty() && !line.starts_with('#') {
                break;
            }
            self.at += line.len();
            self.line += 1;
        }
    }

    fn field(&mut self) -> Result<Field<'a>, (TextSpan, Mistake)> {
        while self.separator != b'\t' && (self.take(b' ') || self.take(b'\t')) {}
        match self.take(b'"') {
            true => self.quoted(),
            false => {
                let length = self.unquoted_length();
                let place = self.at..self.at + length;
                self.at += length;
                let text = self.text[place.clone()].trim();
                Ok(Field {
                    text: Cow::Borrowed(text),
                    place: place.start..place.start + text.len(),
                })
            }
        }
    }

    /// Returns how many bytes there are up to the end of the field.
    fn unquoted_length(&self) -> usize {
        let rest = self.rest().as_bytes();
        let end = rest
            .iter()
            .position(|byte| *byte == self.separator || *byte == b'\n');
        let end = end.unwrap_or(rest.len());
        let breaks = rest.get(end) == Some(&b'\n') && rest[..end].ends_with(b"\r");
        end - usize::from(breaks)
    }

    /// Reads on behind an opening quote.
    fn quoted(&mut self) -> Result<Field<'a>, (TextSpan, Mistake)> {
        let start = self.at;
        loop {
            let Some(length) = self.rest().find('"') else {
                let message = "a quote begins here and does not end";
                return Err((start - 1..start, syntax(message)));
            };
            self.at += length + 1;
            if !self.take(b'"') {
                break;
            }
        }
        let place = start..self.at - 1;
        let inside = &self.text[place.clone()];
        let breaks = inside.bytes().filter(|byte| *byte == b'\n').count();
        self.line = self
            .line
            .saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        let behind = self.unquoted_length();
        if !self.rest()[..behind].trim().is_empty() {
            let message = "text behind a closing quote; write a quote inside of quotes twice";
            return Err((self.at..self.at + behind, syntax(message)));
        }
        self.at += behind;
        let text = match inside.contains('"') {
            true => Cow::Owned(inside.replace("\"\"", "\"")),
            false => Cow::Borrowed(inside),
        };
        Ok(Field { text, place })
    }
}

fn separator(header: &str) -> u8 {
    let count = |separator: u8| header.bytes().filter(|byte| *byte == separator).count();
    [b'\t', b';', b',']
        .into_iter()
        .max_by_key(|separator| count(*separator))
        .unwrap_or(b',')
}

fn syntax(message: &str) -> Mistake {
    let message = message.to_owned();
    Mistake::Syntax { message }
}
