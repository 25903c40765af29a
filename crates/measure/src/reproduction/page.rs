//! Experiments for people, in one page that needs nothing else.

use super::{Picture, Reproduction, Row};
use crate::report::html::{self, markup::Element, quantity::spelled};

/// Returns all experiments of one call as a page.
#[must_use]
pub fn page(title: &str, reproductions: &[Reproduction]) -> String {
    let quick = reproductions.iter().any(|one| one.quick).then(|| {
        let text = "Shortened (--quick): no figure of this is for publication.";
        Element::new("p").class("note").text(text)
    });
    let class = match (
        reproductions.iter().all(|one| one.broken.is_empty()),
        quick.is_some(),
    ) {
        (false, _) => "bad",
        (true, true) => "narrow",
        (true, false) => "plain",
    };
    let head = Element::new("header")
        .class(class)
        .child(Element::new("h1").text("Taktos"))
        .child(Element::new("p").class("summary").text(title))
        .children(quick);
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
        .map(|remark| Element::new("li").text(spelled(remark)));
    let broken = reproduction.broken.iter();
    let broken = broken.map(|it| Element::new("li").text(format!("BROKEN: {it}")));
    let pictures = reproduction.pictures.iter().map(Picture::on_page);
    Element::new("section")
        .with("id", &reproduction.experiment)
        .child(Element::new("h2").text(heading))
        .child(Element::new("p").class("note").text(seed))
        .child(Element::new("p").text(reproduction.agreement()))
        .child(table(&reproduction.rows))
        .child(Element::new("div").class("plots").children(pictures))
        .child(Element::new("ul").children(broken.chain(remarks)))
}

/// Returns a unit as pages spell it.
fn unit(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        unit => unit,
    }
}

fn table(rows: &[Row]) -> Element {
    let heads = ["quantity", "unit", "paper", "Taktos", "compared", "note"];
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
            .child(Element::new("td").text(spelled(&row.quantity)))
            .child(Element::new("td").text(unit(&row.unit)))
            .child(Element::new("td").class("number").text(paper))
            .child(Element::new("td").class("number").text(row.ours_as_text()))
            .child(Element::new("td").text(row.comparison()))
            .child(Element::new("td").text(spelled(&row.note)))
    });
    let table = Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(lines));
    Element::new("div").class("wide").child(table)
}
