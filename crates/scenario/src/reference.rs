//! The reference of all keys in `docs/scenario.md`, from the tables that the
//! reader follows.

use std::fmt::Write;

use crate::format::{FILE, PROFILE};
use crate::shape::{Keys, NEVER, Need, TableShape, ValueShape, Zero};

/// Returns the reference of all tables and keys, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut out = String::new();
    let mut done = Vec::new();
    describe("The file", "", &FILE, &mut done, &mut out);
    describe("A profile", "", &PROFILE, &mut done, &mut out);
    out
}

/// Describes a table and those below it, each once. `path` is what stands before
/// the keys of the table in the file, its dot included.
fn describe(
    heading: &str,
    path: &str,
    table: &'static TableShape,
    done: &mut Vec<&'static str>,
    out: &mut String,
) {
    if done.contains(&table.title) {
        return;
    }
    done.push(table.title);
    writeln!(
        out,
        "### {heading}\n\n| key | value | meaning |\n| --- | --- | --- |"
    )
    .expect("a text takes every line");
    for key in table.keys {
        let need = match key.need {
            Need::Required => " (required)",
            Need::Optional => "",
        };
        let about = key.about.replace('|', "\\|");
        writeln!(
            out,
            "| `{}`{need} | {} | {about} |",
            key.name,
            value_of(&key.shape)
        )
        .expect("a text takes every line");
    }
    out.push('\n');
    for key in table.keys {
        let below = format!("{path}{}", key.name);
        let (heading, table) = match table_of(&key.shape) {
            Some((Nesting::One, table)) => (format!("`[{below}]`"), table),
            Some((Nesting::Named, table)) => (format!("`[{below}.NAME]`"), table),
            Some((Nesting::List, table)) => (format!("`[[{below}]]`"), table),
            None => continue,
        };
        describe(&heading, &format!("{below}."), table, done, out);
    }
}

/// How a table is written below another.
enum Nesting {
    One,
    Named,
    List,
}

fn table_of(shape: &ValueShape) -> Option<(Nesting, &'static TableShape)> {
    let of = |shape: &ValueShape| table_of(shape).map(|(_, table)| table);
    match shape {
        ValueShape::Table(table) => Some((Nesting::One, table)),
        ValueShape::Map(_, shape) => Some((Nesting::Named, of(shape)?)),
        ValueShape::List(shape) => Some((Nesting::List, of(shape)?)),
        ValueShape::AnyOf(shapes) => shapes.iter().find_map(table_of),
        ValueShape::Text
        | ValueShape::Time(_)
        | ValueShape::TimeOrNever
        | ValueShape::Delay(_)
        | ValueShape::Rate
        | ValueShape::Size
        | ValueShape::Length
        | ValueShape::Integer { .. }
        | ValueShape::Number
        | ValueShape::Factor
        | ValueShape::Percent
        | ValueShape::Choice(_)
        | ValueShape::Mac
        | ValueShape::Address => None,
    }
}

fn value_of(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Text => "text".to_owned(),
        ValueShape::Time(_)
        | ValueShape::Delay(_)
        | ValueShape::Rate
        | ValueShape::Size
        | ValueShape::Length
        | ValueShape::Percent
        | ValueShape::Mac
        | ValueShape::Address => {
            let (what, example) = shape.example();
            format!("{what}, `\"{example}\"`")
        }
        ValueShape::TimeOrNever => format!(
            "{} or `\"{NEVER}\"`",
            value_of(&ValueShape::Time(Zero::Refused))
        ),
        ValueShape::Integer { least, most } => format!("{least} to {most}"),
        ValueShape::Number => "integer".to_owned(),
        ValueShape::Factor => "number above 1".to_owned(),
        ValueShape::Choice(choice) => {
            let words = choice.words.iter().map(|word| format!("`\"{word}\"`"));
            words.collect::<Vec<_>>().join(", ")
        }
        ValueShape::Table(_) => "table".to_owned(),
        ValueShape::Map(Keys::Names, _) => "tables by name".to_owned(),
        ValueShape::Map(Keys::Rates, shape) => format!("table: {} by rate", shape.example().0),
        ValueShape::List(shape) => match **shape {
            ValueShape::Table(_) => "list of tables".to_owned(),
            _ => format!("list of {}s", shape.example().0),
        },
        ValueShape::AnyOf(shapes) => {
            let shapes: Vec<_> = shapes.iter().map(value_of).collect();
            shapes.join(" or ")
        }
    }
}
