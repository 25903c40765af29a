//! Tables for people, made of what a controller says. Names come from the network,
//! and may hold anything: nothing of it reaches the terminal as a command.

use api::Count;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};

/// The longest cell: names and long paths fit.
const LONGEST_CELL: usize = 1_000;

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub enum Head {
    Text(&'static str),
    /// One of amounts, which stand at the right.
    Amount(&'static str),
}

impl Head {
    const fn title(self) -> &'static str {
        match self {
            Self::Text(title) | Self::Amount(title) => title,
        }
    }
}

/// Draws rows under their heads, each on one line. A column in which nothing stands
/// is left out.
pub fn draw<const N: usize>(heads: [Head; N], rows: &[[String; N]]) -> String {
    let filled = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..N).filter(filled).collect();
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| heads[*column].title()));
    for (index, column) in columns.iter().enumerate() {
        if let (Head::Amount(_), Some(drawn)) = (heads[*column], table.column_mut(index)) {
            drawn.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row(columns.iter().map(|column| harmless(&row[*column])));
    }
    let drawn = table.trim_fmt();
    // Every cell begins with a space, the first one of a line, too.
    let lines = drawn
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Draws facts about one thing, each with its name, under a title.
pub fn facts(title: &str, facts: &[(&str, String)]) -> String {
    let filled = facts.iter().filter(|(_, fact)| !fact.is_empty());
    let width = filled.clone().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = format!("{}\n", harmless(title));
    for (name, fact) in filled {
        text.push_str(&format!(
            "  {}  {}\n",
            pad(&harmless(name), width),
            harmless(fact)
        ));
    }
    text
}

fn pad(name: &str, width: usize) -> String {
    format!("{name:width$}")
}

/// Returns a text with everything spelt out that a terminal would obey or that
/// would change how what follows is read, and cut where it does not end.
pub fn harmless(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for (count, character) in text.chars().enumerate() {
        if count >= LONGEST_CELL {
            harmless.push('…');
            break;
        }
        match is_harmful(character) {
            true => harmless.extend(character.escape_unicode()),
            false => harmless.push(character),
        }
    }
    harmless
}

/// Returns a JSON document that means the same and holds nothing that a terminal
/// would obey: JSON itself spells out only some of it.
pub fn harmless_document(document: &str) -> String {
    if !document.chars().any(|it| is_harmful(it) && it != '\n') {
        return document.to_owned();
    }
    let mut harmless = String::with_capacity(document.len());
    for character in document.chars() {
        match is_harmful(character) && character != '\n' {
            true => harmless.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => harmless.push(character),
        }
    }
    harmless
}

/// Tells whether a character is a command to a terminal, or one that turns the
/// direction of text or cannot be seen. All of them have four digits.
const fn is_harmful(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
    )
}

/// Returns how many there are, with the right form of their name.
pub fn count(number: usize, one: &str) -> String {
    Count(number, one).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn amounts_stand_right_and_empty_columns_nowhere() {
        let heads = [
            Head::Text("flow"),
            Head::Text("note"),
            Head::Amount("slack"),
        ];
        let row = |name: &str, slack: &str| [name.to_owned(), String::new(), slack.to_owned()];

        let drawn = draw(heads, &[row("sv", "10 us"), row("trip", "2 us")]);

        assert_eq!(drawn, "flow  slack\nsv    10 us\ntrip   2 us\n");
    }

    #[test]
    fn names_of_hosts_do_nothing_to_a_terminal() {
        let name = "h1\x1b[2J\r\n\u{9b}31m\u{202e}";

        let drawn = draw([Head::Text("host")], &[[name.to_owned()]]);

        assert_eq!(drawn, "host\nh1\\u{1b}[2J\\u{d}\\u{a}\\u{9b}31m\\u{202e}\n");
        assert_eq!(
            harmless(&"x".repeat(5000)).chars().count(),
            LONGEST_CELL + 1
        );
    }

    #[test]
    fn a_document_means_the_same_when_it_is_harmless() {
        let value = Value::from("h1\u{9b}31m\x7f\u{2028}é\n");

        let document = harmless_document(&value.to_string());

        assert!(
            document.contains("\\u009b31m\\u007f\\u2028é\\n"),
            "{document}"
        );
        assert_eq!(serde_json::from_str::<Value>(&document).unwrap(), value);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(count(1, "switch"), "1 switch");
        assert_eq!(count(0, "switch"), "0 switches");
        assert_eq!(count(2, "flow"), "2 flows");
        assert_eq!(count(2, "entry"), "2 entries");
    }
}
