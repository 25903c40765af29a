//! Rows under heads.

use std::borrow::Cow;
use std::fmt::Write;

use super::markup::Element;
use super::quantity::spelled;

/// What is longer, but for names, is a sentence, and does not widen its column of text.
const WIDEST: usize = 40;

#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Above it; empty if it has none.
    pub caption: String,
    /// How far text is moved to the right.
    pub indent: usize,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Whether the reader of a page sorts it by a click on a head.
    pub is_sortable: bool,
}

#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, of which several lines stand below each other in text; nothing stands above
    /// a table whose heads are all empty.
    head: Cow<'static, str>,
    /// What it is, for who points at the head.
    meaning: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub cells: Vec<Cell>,
    /// The class that colours it.
    pub class: &'static str,
    /// Of which flow it is.
    pub flow: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub text: String,
    /// The number by which it is sorted.
    pub key: Option<u64>,
}

const LEFT: &str = "left";
const RIGHT: &str = "number";

/// Returns a column of words.
#[must_use]
pub const fn left(head: &'static str) -> Column {
    Column {
        head: Cow::Borrowed(head),
        meaning: "",
        class: LEFT,
    }
}

/// Returns a column of numbers.
#[must_use]
pub const fn right(head: &'static str) -> Column {
    Column {
        head: Cow::Borrowed(head),
        meaning: "",
        class: RIGHT,
    }
}

impl Column {
    /// Returns it with what it is.
    #[must_use]
    pub const fn meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    /// Returns it as one of formulas.
    #[must_use]
    pub const fn formula(mut self) -> Self {
        self.class = "left formula";
        self
    }

    /// Returns it with another head.
    #[must_use]
    pub fn named(self, head: impl Into<String>) -> Self {
        Self {
            head: Cow::Owned(head.into()),
            ..self
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            key: None,
        }
    }
}

impl Cell {
    /// Returns a number that is shown in its own way, or that there is none.
    #[must_use]
    pub fn of(value: Option<u64>, show: fn(u64) -> String) -> Self {
        Self {
            text: value.map_or_else(|| "–".to_owned(), show),
            key: value,
        }
    }
}

impl Row {
    fn texts(&self) -> Vec<&str> {
        self.cells.iter().map(|cell| &*cell.text).collect()
    }
}

impl Table {
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns it with these rows below those that it has.
    #[must_use]
    pub fn rows<C: Into<Cell>, R: IntoIterator<Item = C>>(
        mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        self.rows.extend(rows.into_iter().map(|cells| Row {
            cells: cells.into_iter().map(Into::into).collect(),
            class: "",
            flow: None,
        }));
        self
    }

    /// Returns lines whose columns stand below each other.
    #[must_use]
    pub fn to_text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let mut lines = self.heads();
        lines.extend(self.rows.iter().map(Row::texts));
        let is_left = |place: usize| self.columns[place].class != RIGHT;
        let width = |place: usize| {
            let cells = lines.iter().filter_map(|line| line.get(place));
            let widths = cells.map(|cell| cell.chars().count());
            let widths = widths.filter(|width| is_left(place) || *width <= WIDEST);
            widths.max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        let indent = self.indent;
        let mut text = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("{:1$}{caption}\n", "", indent.saturating_sub(2)),
        };
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(place, (cell, width))| match is_left(place) {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(text, "{:indent$}{}", "", line.trim_end());
        }
        text
    }

    /// Returns the lines of the heads: the last line of each stands right above the values.
    fn heads(&self) -> Vec<Vec<&str>> {
        let heads = self.columns.iter().map(|column| column.head.split('\n'));
        let heads: Vec<Vec<_>> = heads.map(Iterator::collect).collect();
        if heads.iter().all(|head| *head == [""]) {
            return Vec::new();
        }
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        let line = |level: usize| {
            let words = heads.iter().map(|head| {
                let place = (level + head.len()).checked_sub(height);
                place.map_or("", |place| head[place])
            });
            words.collect()
        };
        (0..height).map(line).collect()
    }

    pub(super) fn element(&self) -> Element {
        let heads = self.columns.iter().map(|column| {
            let name = spelled(&column.head).replace('\n', " ");
            let head = Element::new("th").with("scope", "col").class(column.class);
            let head = match column.meaning {
                "" => head,
                meaning => head.with("title", meaning),
            };
            match self.is_sortable {
                true => head.child(Element::new("button").with("type", "button").text(name)),
                false => head.text(name),
            }
        });
        let head = Element::new("thead").child(Element::new("tr").children(heads));
        let has_heads = self.columns.iter().any(|column| !column.head.is_empty());
        let caption = Element::new("caption").text(spelled(&self.caption));
        let rows = self.rows.iter().map(|row| self.row(row));
        let table = match self.is_sortable {
            true => Element::new("table").class("sortable"),
            false => Element::new("table"),
        };
        let table = table
            .children((!self.caption.is_empty()).then_some(caption))
            .children(has_heads.then_some(head))
            .child(Element::new("tbody").children(rows));
        Element::new("div").class("wide").child(table)
    }

    fn row(&self, row: &Row) -> Element {
        let cells = row.cells.iter().zip(&self.columns).map(|(cell, column)| {
            let element = Element::new("td").class(column.class);
            let element = element.text(spelled(&cell.text));
            match cell.key {
                Some(key) => element.with("data-key", key),
                None => element,
            }
        });
        let element = Element::new("tr").children(cells);
        let element = match row.class {
            "" => element,
            class => element.class(class),
        };
        match row.flow {
            Some(flow) => element.flow(flow),
            None => element,
        }
    }

    /// Returns it for spreadsheets (RFC 4180).
    #[must_use]
    pub fn to_csv(&self) -> String {
        let heads = self.columns.iter().map(|column| &*column.head).collect();
        let line = |mut cells: Vec<&str>| {
            cells.resize(self.columns.len(), "");
            let cells: Vec<_> = cells.into_iter().map(quoted).collect();
            format!("{}\r\n", cells.join(","))
        };
        let rows = self.rows.iter().map(Row::texts);
        std::iter::once(heads).chain(rows).map(line).collect()
    }
}

/// Returns a cell as RFC 4180 section 2 wants it.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}
