//! Experiments for people and programs.

use serde_json::{Value, json};

use super::{Reproduction, Row};
use crate::document::table::{left, right};
use crate::document::{Block, Document, Head, Rating, Section, Table};

const QUICK: &str = "Shortened (--quick): no figure of this is for publication.";

/// Returns all experiments of one call as a JSON document: that of the only one,
/// or a list.
///
/// # Panics
///
/// Never: there is nothing in it that JSON cannot say.
#[must_use]
pub fn documents(reproductions: &[Reproduction]) -> Value {
    match reproductions {
        [only] => json!(only),
        several => json!(several),
    }
}

/// Returns what people are told of all experiments of one call.
#[must_use]
pub fn document(title: &str, reproductions: &[Reproduction]) -> Document {
    let is_quick = reproductions.iter().any(|one| one.quick);
    let is_broken = reproductions.iter().any(|one| !one.broken.is_empty());
    let agreements = reproductions
        .iter()
        .map(|one| format!("{}: {}", one.experiment, one.agreement()));
    Document {
        title: title.to_owned(),
        head: Head {
            state: match (is_broken, is_quick) {
                (true, _) => Rating::Bad,
                (false, true) => Rating::Narrow,
                (false, false) => Rating::Plain,
            },
            name: "Taktos".to_owned(),
            headline: title.to_owned(),
            sentences: agreements.collect(),
            notes: is_quick.then(|| QUICK.to_owned()).into_iter().collect(),
            ..Head::default()
        },
        sections: reproductions.iter().flat_map(sections).collect(),
    }
}

fn sections(reproduction: &Reproduction) -> [Section; 2] {
    let Reproduction {
        paper,
        experiment,
        title,
        ..
    } = reproduction;
    let heading = format!("{paper} {experiment}: {title}");
    let mut notes: Vec<&str> = Vec::new();
    let rows: Vec<_> = reproduction
        .rows
        .iter()
        .map(|it| row(it, &mut notes))
        .collect();
    let columns = [
        left("quantity"),
        left("unit"),
        right("paper"),
        right("taktos"),
        left("compared"),
    ];
    let notes = (1..).zip(notes);
    let mut below: Vec<_> = reproduction.remarks.clone();
    let broken = reproduction.broken.iter();
    below.extend(broken.map(|broken| format!("BROKEN: {broken}")));
    below.extend(reproduction.quick.then(|| QUICK.to_owned()));
    let seed = format!("world {} · seed {}", reproduction.world, reproduction.seed);
    let blocks = vec![
        Block::Note(seed),
        Block::Table(Table::new(columns).rows(rows)),
        Block::Lines(
            notes
                .map(|(number, note)| format!("({number}) {note}"))
                .collect(),
        ),
        Block::Pictures(reproduction.pictures.clone()),
        Block::Lines(below),
        Block::Paragraph(reproduction.agreement()),
        Block::Gap,
    ];
    let on_page = format!("{experiment}: {title}");
    [
        Section::of_text(vec![Block::Paragraph(heading)]),
        Section::new(experiment, on_page, blocks),
    ]
}

/// Returns the cells of a figure; its note stands below the table once, by a number.
fn row<'a>(row: &'a Row, notes: &mut Vec<&'a str>) -> [String; 5] {
    let mut compared = row.comparison();
    if !row.note.is_empty() {
        let at = notes.iter().position(|note| *note == row.note);
        let at = at.unwrap_or_else(|| {
            notes.push(&row.note);
            notes.len() - 1
        });
        compared = format!("{compared} ({})", at + 1).trim_start().to_owned();
    }
    let unit = match row.unit.as_str() {
        "us" => "µs",
        unit => unit,
    };
    [
        row.quantity.clone(),
        unit.to_owned(),
        row.paper.map_or("–", |printed| printed.text()).to_owned(),
        row.ours_as_text(),
        compared,
    ]
}
