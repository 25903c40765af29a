//! Experiments for people, in one page that needs nothing else.

use super::{Picture, Reproduction, Row};
use crate::report::html::{self, markup::Element};

/// Returns all experiments of one call as a page.
#[must_use]
pub fn page(title: &str, reproductions: &[Reproduction]) -> String {
    let head = Element::new("header")
        .class("good")
        .child(Element::new("h1").text("Taktos"))
        .child(Element::new("p").class("summary").text(title));
    let sections = reproductions.iter().map(section);
    let main = Element::new("main").child(head).children(sections);
    html::page(title, Element::new("body").child(main))
}

fn section(reproduction: &Reproduction) -> Element {
    let seed = format!("world {} · seed {}", reproduction.world, reproduction.seed);
    let heading = format!("{}: {}", reproduction.experiment, reproduction.title);
    let remarks = reproduction
        .remarks
        .iter()
        .chain(&reproduction.broken)
        .map(|remark| Element::new("li").text(remark));
    let pictures = reproduction.pictures.iter().map(Picture::element);
    Element::new("section")
        .with("id", &reproduction.experiment)
        .child(Element::new("h2").text(heading))
        .child(Element::new("p").class("note").text(seed))
        .child(table(&reproduction.rows))
        .child(Element::new("div").class("panels").children(pictures))
        .child(Element::new("ul").children(remarks))
}

fn table(rows: &[Row]) -> Element {
    let heads = ["quantity", "unit", "paper", "Taktos", "note"];
    let head = heads.into_iter().enumerate().map(|(column, text)| {
        let head = Element::new("th").text(text);
        match column {
            2 | 3 => head.class("number"),
            _ => head,
        }
    });
    let lines = rows.iter().map(|row| {
        let paper = row.paper.map_or("–", |printed| printed.text());
        Element::new("tr")
            .child(Element::new("td").text(&row.quantity))
            .child(Element::new("td").text(&row.unit))
            .child(Element::new("td").class("number").text(paper))
            .child(Element::new("td").class("number").text(row.ours_as_text()))
            .child(Element::new("td").text(&row.note))
    });
    let table = Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(lines));
    Element::new("div").class("wide").child(table)
}
