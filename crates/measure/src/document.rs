//! What is told at the end, of a run, a measurement, a comparison or an experiment of a
//! paper: one document, made of a head and of sections of tables, plots, pictures and
//! remarks.
//!
//! | module | shows |
//! |---|---|
//! | [`table`] | rows under heads, as text, on a page and for spreadsheets |
//! | [`picture`] | figures as data, and as SVG |
//! | `json` | anything for programs |
//! | `markup`, `svg`, `quantity` | elements of a page, shapes, and numbers with units |
//!
//! The page is one file that needs nothing else. Its colours are variables of the style
//! sheet, so that it follows the reader's light or dark theme and prints; whatever a
//! colour says, a shape or a word says too. The script only lights a flow in all plots at
//! once and sorts tables; without it nothing is missing.

mod json;
pub mod markup;
pub mod picture;
pub(crate) mod quantity;
pub(crate) mod svg;
pub mod table;

pub use json::json;
use markup::Element;
pub use picture::Picture;
use quantity::spelled;
use svg::{circle, cross, drawing, polygon, polyline};
pub use table::Table;

const STYLE: &str = include_str!("document/style.css");
const SCRIPT: &str = include_str!("document/script.js");

/// What is said of something, for people.
#[derive(Clone, Debug)]
pub struct Document {
    pub title: String,
    pub head: Head,
    pub sections: Vec<Section>,
}

/// What matters first, above all else of a page.
#[derive(Clone, Debug, Default)]
pub struct Head {
    pub state: Rating,
    /// Whether that is a verdict, which has a sign.
    pub is_verdict: bool,
    /// What it is, above the headline.
    pub name: String,
    pub headline: String,
    pub sentences: Vec<String>,
    /// Under which conditions it was found, and what else is to be known.
    pub notes: Vec<String>,
    pub figures: Vec<KeyFigure>,
}

/// How good it is, as a colour and a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rating {
    Good,
    Narrow,
    Bad,
    /// Neither.
    #[default]
    Plain,
}

/// One of the few figures that matter most.
#[derive(Clone, Debug)]
pub struct KeyFigure {
    pub name: &'static str,
    pub value: String,
    pub note: String,
}

/// Where a section stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Page,
    Text,
    Both,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub medium: Medium,
    /// Its name in links; empty if it has none.
    pub id: String,
    /// Above it on a page.
    pub title: String,
    pub blocks: Vec<Block>,
}

/// A part of a section. What text cannot show is left out of it.
#[derive(Clone, Debug)]
pub enum Block {
    /// An empty line of text.
    Gap,
    Heading(String),
    Paragraph(String),
    /// A paragraph that explains.
    Note(String),
    /// Sentences, each on its own line.
    Lines(Vec<String>),
    /// The same, each behind a dash in text.
    Remarks(Vec<String>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    Table(Table),
    /// What lines and colours of a drawing mean.
    Legend(Vec<(Element, String)>),
    Drawing(Element),
    /// Drawings beside each other.
    Panels(Vec<Element>),
    Pictures(Vec<Picture>),
    Folded {
        summary: String,
        is_open: bool,
        blocks: Vec<Block>,
    },
}

impl Document {
    /// Returns it as lines for the terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let sections = self.sections.iter();
        let shown = sections.filter(|section| section.medium != Medium::Page);
        let blocks = shown.flat_map(|section| &section.blocks);
        spelled(&blocks.map(Block::to_text).collect::<String>())
    }

    /// Returns it as a page.
    #[must_use]
    pub fn to_page(&self) -> String {
        let sections = self.sections.iter();
        let sections = sections.filter(|section| section.medium != Medium::Text);
        let main = Element::new("main")
            .child(self.head.element())
            .children(sections.map(Section::element));
        let body = Element::new("body")
            .child(main)
            .child(Element::new("script").verbatim(SCRIPT));
        let viewport = "width=device-width, initial-scale=1";
        let head = Element::new("head")
            .child(Element::new("meta").with("charset", "utf-8"))
            .child(
                Element::new("meta")
                    .with("name", "viewport")
                    .with("content", viewport),
            )
            .child(Element::new("title").text(format!("{} · Taktos", self.title)))
            .child(Element::new("style").verbatim(STYLE));
        let page = Element::new("html").with("lang", "en");
        format!("<!doctype html>\n{}\n", page.child(head).child(body))
    }
}

impl Rating {
    /// Returns its name in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Narrow => "narrow",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }

    fn emblem(self) -> Option<Element> {
        let disc = || circle((24.0, 24.0), 22.0).class("mark");
        let tick = |points: [(f64, f64); 3]| polyline(points).class("tick");
        let [ground, sign] = match self {
            Self::Plain => return None,
            Self::Bad => [disc(), cross((24.0, 24.0), 8.0)],
            Self::Narrow => [
                polygon([(24.0, 3.0), (46.0, 43.0), (2.0, 43.0)]).class("mark"),
                tick([(15.0, 30.0), (22.0, 37.0), (33.0, 22.0)]),
            ],
            Self::Good => [disc(), tick([(14.0, 25.0), (21.0, 32.0), (34.0, 17.0)])],
        };
        let svg = drawing(48.0, 48.0, "Verdict", self.class()).class("emblem");
        Some(svg.child(ground).child(sign))
    }
}

impl Head {
    fn element(&self) -> Element {
        let paragraph = |text: &String| Element::new("p").text(text);
        let words = Element::new("div")
            .child(Element::new("h1").text(&self.name))
            .child(paragraph(&self.headline).class("summary"))
            .children(self.sentences.iter().map(paragraph))
            .children(self.notes.iter().map(|note| paragraph(note).class("note")));
        let verdict = Element::new("div")
            .class("verdict")
            .children(self.state.emblem().filter(|_| self.is_verdict))
            .child(words);
        let figures = self.figures.iter().map(|figure| {
            Element::new("div")
                .child(Element::new("dt").text(figure.name))
                .child(Element::new("dd").class("value").text(&figure.value))
                .child(Element::new("dd").class("note").text(&figure.note))
        });
        let figures = Element::new("dl").class("figures").children(figures);
        Element::new("header")
            .class(self.state.class())
            .child(verdict)
            .children((!self.figures.is_empty()).then_some(figures))
    }
}

impl Section {
    #[must_use]
    pub fn new(id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            medium: Medium::Both,
            id: id.into(),
            title: title.into(),
            blocks,
        }
    }

    /// Returns one that only a page shows.
    #[must_use]
    pub fn of_page(id: &str, title: &str, blocks: Vec<Block>) -> Self {
        Self {
            medium: Medium::Page,
            ..Self::new(id, title, blocks)
        }
    }

    /// Returns one that only text shows.
    #[must_use]
    pub fn of_text(blocks: Vec<Block>) -> Self {
        Self {
            medium: Medium::Text,
            ..Self::new("", "", blocks)
        }
    }

    /// Returns by which formula or clause quantities are found, each of them once.
    #[must_use]
    pub fn of_sources<'a>(found: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut facts: Vec<(String, String)> = Vec::new();
        for (quantity, source) in found.filter(|(_, source)| !source.is_empty()) {
            let fact = (quantity.to_owned(), source.to_owned());
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
        Self::of_page(
            "sources",
            "By which formula or clause",
            vec![Block::Facts(facts)],
        )
    }

    fn element(&self) -> Element {
        let section = match self.id.as_str() {
            "" => Element::new("section"),
            id => Element::new("section").with("id", id),
        };
        let title = (!self.title.is_empty()).then(|| Element::new("h2").text(&self.title));
        section
            .children(title)
            .children(self.blocks.iter().filter_map(Block::element))
    }
}

impl Block {
    fn to_text(&self) -> String {
        let lines = |dash: &str, lines: &[String]| {
            let lines = lines.iter();
            lines.map(|line| format!("{dash}{line}\n")).collect()
        };
        match self {
            Self::Gap => "\n".to_owned(),
            Self::Heading(text) | Self::Paragraph(text) | Self::Note(text) => format!("{text}\n"),
            Self::Lines(all) => lines("", all),
            Self::Remarks(all) => lines("- ", all),
            Self::Table(table) => table.to_text(),
            Self::Facts(facts) => {
                let facts = facts.iter();
                facts
                    .map(|(name, value)| format!("{name}: {value}\n"))
                    .collect()
            }
            Self::Legend(_) | Self::Drawing(_) | Self::Panels(_) | Self::Pictures(_) => {
                String::new()
            }
            Self::Folded { blocks, .. } => blocks.iter().map(Self::to_text).collect(),
        }
    }

    fn element(&self) -> Option<Element> {
        let text = |name, text: &str| Element::new(name).text(spelled(text));
        Some(match self {
            Self::Gap => return None,
            Self::Lines(lines) | Self::Remarks(lines) if lines.is_empty() => return None,
            Self::Table(table) if table.rows.is_empty() => return None,
            Self::Heading(heading) => text("h3", heading),
            Self::Paragraph(paragraph) => text("p", paragraph),
            Self::Note(note) => text("p", note).class("note"),
            Self::Lines(lines) | Self::Remarks(lines) => {
                Element::new("ul").children(lines.iter().map(|line| text("li", line)))
            }
            Self::Facts(facts) => {
                let facts = facts.iter();
                let pairs = facts.flat_map(|(name, value)| [text("dt", name), text("dd", value)]);
                Element::new("dl").class("facts").children(pairs)
            }
            Self::Table(table) => table.element(),
            Self::Legend(keys) => {
                let key = |(sign, meaning): &(Element, String)| {
                    let key = Element::new("span").class("key");
                    key.child(sign.clone()).text(meaning)
                };
                let keys = keys.iter().map(key);
                Element::new("p").class("legend").children(keys)
            }
            Self::Drawing(drawing) => drawing.clone(),
            Self::Panels(panels) => {
                let panels = panels.iter().cloned();
                Element::new("div").class("panels").children(panels)
            }
            Self::Pictures(pictures) => {
                let pictures = pictures.iter().map(Picture::on_page);
                Element::new("div").class("plots").children(pictures)
            }
            Self::Folded {
                summary,
                is_open,
                blocks,
            } => {
                let details = match is_open {
                    true => Element::new("details").with("open", "open"),
                    false => Element::new("details"),
                };
                details
                    .child(text("summary", summary))
                    .children(blocks.iter().filter_map(Self::element))
            }
        })
    }
}
