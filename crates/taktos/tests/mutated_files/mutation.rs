//! Changes a text as people, editors and broken disks do.

use sim::servers::random::Random;

/// Numbers at which arithmetic ends, or begins to be of another kind.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "0.000000001",
    "1e308",
    "-1e-308",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999999999",
    "NaN",
    "",
];
/// Units that take each other's place.
const UNITS: [&str; 10] = [
    "ns", "us", "ms", "s", "bit/s", "kbit/s", "Mbit/s", "Tbit/s", "B", "MB",
];
const STRANGERS: [char; 10] = [
    '"', '\'', '[', '}', '=', ',', '\\', '\u{0}', 'µ', '\u{feff}',
];

/// Returns the text with a few changes.
pub fn mutated(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..random.between(1, 3) {
        text = match random.below(10) {
            0..5 => with_another_number(&text, random),
            5 => with_another_unit(&text, random),
            6 => with_other_lines(&text, random),
            7 => cut(&text, random),
            8 => with_a_stranger(&text, random),
            _ => with_a_word_of_elsewhere(&text, random),
        };
    }
    text
}

fn with_another_number(text: &str, random: &mut Random) -> String {
    let is_of_a_number = |c: char| c.is_ascii_digit() || c == '.';
    exchange(text, is_of_a_number, random, |random, _| {
        random.pick(&NUMBERS).to_owned()
    })
}

fn with_another_unit(text: &str, random: &mut Random) -> String {
    let is_of_a_word = |c: char| c.is_ascii_alphabetic() || c == '/';
    exchange(text, is_of_a_word, random, |random, word| {
        match UNITS.contains(&word) {
            true => random.pick(&UNITS).to_owned(),
            false => word.to_owned(),
        }
    })
}

fn with_a_word_of_elsewhere(text: &str, random: &mut Random) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    exchange(text, is_of_a_word, random, |random, _| {
        words[random.index(words.len())].to_owned()
    })
}

/// Puts something in place of one of the stretches of characters of a kind.
fn exchange(
    text: &str,
    is_of_kind: impl Fn(char) -> bool,
    random: &mut Random,
    other: impl Fn(&mut Random, &str) -> String,
) -> String {
    let mut stretches = Vec::new();
    let mut begun = None;
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        match (begun, is_of_kind(c) && at < text.len()) {
            (None, true) => begun = Some(at),
            (Some(begin), false) => {
                stretches.push(begin..at);
                begun = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    if stretches.is_empty() {
        return text.to_owned();
    }
    let stretch = stretches[random.index(stretches.len())].clone();
    let new = other(random, &text[stretch.clone()]);
    format!("{}{new}{}", &text[..stretch.start], &text[stretch.end..])
}

fn with_other_lines(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.len() < 2 {
        return text.to_owned();
    }
    let (one, other) = (random.index(lines.len()), random.index(lines.len()));
    match random.below(3) {
        0 => {
            lines.remove(one);
        }
        1 => lines.insert(other, lines[one]),
        _ => lines.swap(one, other),
    }
    lines.join("\n")
}

fn cut(text: &str, random: &mut Random) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    match ends.is_empty() {
        true => String::new(),
        false => text[..ends[random.index(ends.len())]].to_owned(),
    }
}

fn with_a_stranger(text: &str, random: &mut Random) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = match places.is_empty() {
        true => 0,
        false => places[random.index(places.len())],
    };
    format!("{}{}{}", &text[..at], random.pick(&STRANGERS), &text[at..])
}
