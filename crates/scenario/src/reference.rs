//! The reference of all keys in `docs/scenario.md`, from the tables that the
//! reader follows.

use std::fmt::Write;

use crate::format::{FILE, PROFILE};
use crate::shape::{Keys, NEVER, Need, Shape, Table, Zero};

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
    table: &'static Table,
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

fn table_of(shape: &Shape) -> Option<(Nesting, &'static Table)> {
    let of = |shape: &Shape| table_of(shape).map(|(_, table)| table);
    match shape {
        Shape::Table(table) => Some((Nesting::One, table)),
        Shape::Map(_, shape) => Some((Nesting::Named, of(shape)?)),
        Shape::List(shape) => Some((Nesting::List, of(shape)?)),
        Shape::AnyOf(shapes) => shapes.iter().find_map(table_of),
        Shape::Text
        | Shape::Time(_)
        | Shape::TimeOrNever
        | Shape::Delay(_)
        | Shape::Rate
        | Shape::Size
        | Shape::Length
        | Shape::Integer { .. }
        | Shape::Number
        | Shape::Factor
        | Shape::Percent
        | Shape::Choice(_)
        | Shape::Mac
        | Shape::Address => None,
    }
}

fn value_of(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Time(_)
        | Shape::Delay(_)
        | Shape::Rate
        | Shape::Size
        | Shape::Length
        | Shape::Percent
        | Shape::Mac
        | Shape::Address => {
            let (what, example) = shape.example();
            format!("{what}, `\"{example}\"`")
        }
        Shape::TimeOrNever => format!("{} or `\"{NEVER}\"`", value_of(&Shape::Time(Zero::Refused))),
        Shape::Integer { least, most } => format!("{least} to {most}"),
        Shape::Number => "integer".to_owned(),
        Shape::Factor => "number above 1".to_owned(),
        Shape::Choice(choice) => {
            let words = choice.words.iter().map(|word| format!("`\"{word}\"`"));
            words.collect::<Vec<_>>().join(", ")
        }
        Shape::Table(_) => "table".to_owned(),
        Shape::Map(Keys::Names, _) => "tables by name".to_owned(),
        Shape::Map(Keys::Rates, shape) => format!("table: {} by rate", shape.example().0),
        Shape::List(shape) => match **shape {
            Shape::Table(_) => "list of tables".to_owned(),
            _ => format!("list of {}s", shape.example().0),
        },
        Shape::AnyOf(shapes) => {
            let shapes: Vec<_> = shapes.iter().map(value_of).collect();
            shapes.join(" or ")
        }
    }
}
