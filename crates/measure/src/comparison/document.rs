//! A comparison for people.

use super::headline::headline;
use super::{Comparison, Row, Verdict, effect_text, picture, setting_text, value_text};
use crate::comparison::effect::Basis;
use crate::document::markup::Element;
use crate::document::table::{Column, left, right};
use crate::document::{Block, Document, Head, Section, Table};

const COLUMNS: [Column; 6] = [
    left("quantity"),
    left("setting"),
    right("A"),
    right("B"),
    right("B / A (95 %)"),
    left("better"),
];

impl Comparison {
    /// Returns what people are told of it: what matters first, the differences, and what is
    /// to be known.
    #[must_use]
    pub fn document(&self) -> Document {
        let sentences = headline(self);
        let both = || {
            ["A", "B"]
                .into_iter()
                .zip(self.devices.iter().zip(&self.sides))
        };
        let devices = both().map(|(name, (device, _))| format!("{name}: {device}"));
        let sides = both()
            .map(|(name, (_, side))| format!("{name} was measured under: {}", side.sentence()));
        let first = vec![
            Block::Lines(devices.collect()),
            Block::Gap,
            Block::Lines(sentences.clone()),
            Block::Gap,
            Block::Lines(sides.collect()),
            Block::Gap,
        ];
        let drawn = picture::drawn(self).map(|drawn| {
            let note = "Each dot says how many times larger the figure of B is, the line between \
                        which bounds that lies with 95 % confidence. Filled: B is better; hollow: \
                        A is; grey: no difference was shown.";
            let drawn = Element::new("div").class("wide").child(drawn);
            let blocks = vec![Block::Note(note.to_owned()), Block::Drawing(drawn)];
            Section::of_page("effects", "How they differ", blocks)
        });
        let table = Table::new(COLUMNS).rows(self.rows.iter().map(row));
        let rows = vec![Block::Table(table), Block::Gap, Block::Lines(self.below())];
        let sources = self.rows.iter().map(|row| (&*row.quantity, &*row.source));
        let sections = [
            Some(Section::of_text(first)),
            drawn,
            Some(Section::new("rows", "", rows)),
            Some(Section::of_sources(sources)),
        ];
        let notes =
            both().map(|(name, (device, side))| format!("{name}: {device}. {}.", side.sentence()));
        // Neither side of a comparison is good or bad as a whole.
        let mut sentences = sentences.into_iter();
        Document {
            title: "comparison".to_owned(),
            head: Head {
                name: "Two devices beside each other".to_owned(),
                headline: sentences.next().unwrap_or_default(),
                sentences: sentences.collect(),
                notes: notes.collect(),
                ..Head::default()
            },
            sections: sections.into_iter().flatten().collect(),
        }
    }

    /// Returns what stands below the rows, a line each.
    fn below(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut effects = self.rows.iter().filter_map(|row| row.effect);
        if effects.any(|effect| effect.basis == Basis::Values) {
            lines.push(
                "* from the values of one round each, taken for independent; with --rounds the \
                 bounds are from rounds"
                    .to_owned(),
            );
        }
        for row in &self.rows {
            if let Some(superiority) = row.effect.and_then(|effect| effect.superiority) {
                let (low, high) = superiority.bounds;
                lines.push(format!(
                    "{} ({}): a value of B is below one of A in {:.1} % of all pairs ({:.1} to \
                     {:.1})",
                    row.quantity.trim_end_matches(", median"),
                    setting_text(&row.setting),
                    superiority.share * 100.0,
                    low * 100.0,
                    high * 100.0,
                ));
            }
        }
        for (name, only) in ["A", "B"].into_iter().zip(&self.only) {
            if !only.is_empty() {
                lines.push(format!("only {name} has: {}", only.join("; ")));
            }
        }
        lines.extend(self.remarks.iter().cloned());
        if self.quick {
            lines.push("Shortened (--quick): no figure of this is for publication.".to_owned());
        }
        lines
    }
}

fn row(row: &Row) -> [String; 6] {
    let effect = row.effect.as_ref();
    let better = match row.verdict {
        Verdict::First => "A",
        Verdict::Second => "B",
        Verdict::Alike => "alike",
        Verdict::Open => "–",
    };
    [
        row.quantity.clone(),
        setting_text(&row.setting),
        value_text(&row.values[0]),
        value_text(&row.values[1]),
        effect.map_or_else(|| "–".to_owned(), effect_text),
        better.to_owned(),
    ]
}
