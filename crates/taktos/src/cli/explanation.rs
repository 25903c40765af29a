//! Shows why a flow has the guarantee that it has, or none: for people here, for
//! programs in [`json`].

pub mod json;

use calculus::admission::{Constraint, Remedy, RemedyChange, Request};
use comfy_table::{CellAlignment, Table, TableStyle};
use units::Delay;

use super::screen::WIDTH;
use run::experiment::explanation::{
    Competition, Explainer, Explanation, HopShare, Lacking, Promised, Rival, thousandths,
};

/// How many flows are named one by one at a stage.
const MOST_RIVALS: usize = 6;
/// How many budgets are named one by one.
const MOST_BUDGETS: usize = 4;
/// Columns of a bar for the whole guarantee.
const BAR: u64 = 20;

/// Returns the explanation of the flow of this name.
#[must_use]
pub fn text(name: &str, explanation: &Explanation, explainer: &Explainer<'_>) -> String {
    match explanation {
        Explanation::BestEffort => {
            format!("{name}: best effort, nothing is promised and nothing reserved\n")
        }
        Explanation::Refused(reason) => format!("{name}: refused: {reason}\n"),
        Explanation::Promised(promised) => promise(name, promised),
        Explanation::Lacking(lacking) => refusal(name, lacking, explainer),
    }
}

fn promise(name: &str, promised: &Promised) -> String {
    let Promised {
        request,
        guarantee,
        unbroken,
        now,
        ..
    } = promised;
    let slack = request.deadline.saturating_sub(*guarantee);
    let mut text = format!("{name}: {}\n", asked(request));
    text += &format!(
        "  guarantee {guarantee} of {}, slack {slack}\n",
        request.deadline
    );
    if let Some(failure) = &promised.reached_after {
        text += &format!(
            "  reached after a failure of {failure}; {unbroken} while nothing is broken\n"
        );
    }
    if let Some(now) = now {
        text += &format!("  now no frame later than {now}, while nothing is broken\n");
    }
    text += &way(promised);
    text += &listed("What would have to change", &changes(promised));
    text
}

fn asked(request: &Request) -> String {
    format!(
        "class {}, {}, burst {}, frames up to {}",
        request.class, request.rate, request.burst, request.largest_frame
    )
}

/// Returns the hops of a promise and who is at each.
fn way(promised: &Promised) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(["hop", "budget", "share", "", "needed", "now"]);
    for column in [1, 2, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let first = promised.request.initial;
    let share = thousandths(first, promised.guarantee);
    let [percent, bar] = [percent(share), bar(share)];
    table.add_row([
        "first link",
        &first.to_string(),
        &percent,
        &bar,
        "",
        &first.to_string(),
    ]);
    for hop in &promised.hops {
        table.add_row(row(hop));
    }
    let more = promised.guarantee.saturating_sub(promised.unbroken);
    if more > Delay::ZERO {
        let share = thousandths(more, promised.guarantee);
        let what = "another way".to_owned();
        table.add_row([
            what,
            more.to_string(),
            self::percent(share),
            self::bar(share),
        ]);
    }
    let table = table.trim_fmt();
    let mut text = String::from("\n");
    for line in table.lines() {
        text += &format!("  {}\n", line.trim());
    }
    text += "\n  Who is there\n";
    for hop in &promised.hops {
        text += &wrapped(&hop.place, &company(&hop.company));
    }
    text
}

fn row(hop: &HopShare) -> [String; 6] {
    let takes = hop.budget + hop.propagation;
    let needed = match &hop.needed_under {
        None => hop.needed.to_string(),
        Some(failure) => format!("{} (without {failure})", hop.needed),
    };
    [
        hop.place.clone(),
        takes.to_string(),
        hop.share.map_or_else(|| "branch".to_owned(), percent),
        hop.share.map(bar).unwrap_or_default(),
        needed,
        hop.now.map(|now| now.to_string()).unwrap_or_default(),
    ]
}

fn percent(thousandths: u64) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

fn bar(thousandths: u64) -> String {
    let columns = (thousandths * BAR).div_ceil(1_000).min(BAR);
    (0..columns).map(|_| '█').collect()
}

/// Returns who is at a stage, the most of its time first, a phrase each.
fn company(company: &Competition) -> Vec<String> {
    let mut phrases = Vec::new();
    phrases.extend(company.own.map(|own| format!("itself {own}")));
    let named = company.rivals.iter().take(MOST_RIVALS);
    phrases.extend(named.map(|rival| format!("{} {}", rival.name, rival.takes)));
    if let Some(others @ [_, ..]) = company.rivals.get(MOST_RIVALS..) {
        let takes = others
            .iter()
            .fold(Delay::ZERO, |sum, rival| sum + rival.takes);
        phrases.push(format!("{} more {takes}", others.len()));
    }
    if company.unpromised > Delay::ZERO {
        phrases.push(format!("without promise {}", company.unpromised));
    }
    if company.latency > Delay::ZERO {
        phrases.push(format!("latency {}", company.latency));
    }
    if let Some((frame, takes)) = company.blocking {
        phrases.push(format!("a frame of {frame} in the way {takes}"));
    }
    phrases
}

/// Returns phrases under a title, in lines that fit the screen.
fn wrapped(title: &str, phrases: &[String]) -> String {
    let mut text = String::new();
    let mut line = format!("    {title}: ");
    let mut is_first = true;
    for phrase in phrases {
        let wide = line.chars().count() + phrase.chars().count() + 2;
        if wide > WIDTH && !is_first {
            text += line.trim_end();
            text.push('\n');
            line = "      ".to_owned();
        } else if !is_first {
            line += "· ";
        }
        line += phrase;
        line.push(' ');
        is_first = false;
    }
    text + line.trim_end() + "\n"
}

fn listed(title: &str, changes: &[String]) -> String {
    let mut text = format!("\n  {title}\n");
    for change in changes {
        let words = change.split(' ').collect::<Vec<_>>();
        let mut line = String::from("    -");
        for word in words {
            if line.chars().count() + word.chars().count() >= WIDTH {
                text += &line;
                text.push('\n');
                line = "     ".to_owned();
            }
            line.push(' ');
            line += word;
        }
        text += &line;
        text.push('\n');
    }
    text
}

/// Returns where the guarantee could become less.
fn changes(promised: &Promised) -> Vec<String> {
    let mut changes = Vec::new();
    let on_way = promised.hops.iter().filter(|hop| hop.share.is_some());
    let mut largest: Vec<_> = on_way.clone().collect();
    largest.sort_by_key(|hop| std::cmp::Reverse(hop.share));
    let largest = largest.iter().take(2);
    let largest = largest.map(|hop| {
        let share = hop.share.unwrap_or_default();
        format!("{} ({})", hop.place, percent(share))
    });
    let largest = largest.collect::<Vec<_>>().join(" and ");
    changes.push(format!("the largest shares are at {largest}"));
    let spare = on_way.map(|hop| (hop, hop.budget.saturating_sub(hop.needed)));
    // What is less than a hundredth is rounding.
    let mut spare: Vec<_> = spare
        .filter(|(hop, spare)| *spare * 100u64 > hop.budget)
        .collect();
    spare.sort_by_key(|(_, spare)| std::cmp::Reverse(*spare));
    if spare.is_empty() {
        changes.push(
            "budgets on the way bind: none could be 1 % less without a promise breaking".into(),
        );
    } else {
        let sum = spare
            .iter()
            .fold(Delay::ZERO, |sum, (_, spare)| sum + *spare);
        let places = spare.iter().take(4);
        let places = places.map(|(hop, spare)| format!("{} by {spare}", hop.place));
        let places = places.collect::<Vec<_>>().join(", ");
        changes.push(format!(
            "budgets on the way could be {sum} less without any promise breaking: {places}"
        ));
    }
    for (class, guarantee) in &promised.other_classes {
        changes.push(match *guarantee < promised.guarantee {
            true => format!("in class {class} the guarantee would be {guarantee}"),
            false => format!("in class {class} it would fit as well, with {guarantee}"),
        });
    }
    changes
}

fn refusal(name: &str, lacking: &Lacking, explainer: &Explainer<'_>) -> String {
    let Lacking {
        request, refusal, ..
    } = lacking;
    let mut text = format!("{name}: refused, {}\n", asked(request));
    text += &format!("  deadline {}\n", request.deadline);
    let place = lacking.place.as_deref().unwrap_or("the way");
    let after = lacking.after.as_ref();
    let after = after
        .map(|link| format!(" without {link}"))
        .unwrap_or_default();
    text += &format!("  {place}{after}: {}\n", refusal.constraint);
    if let Some(margin) = refusal.constraint.margin() {
        text += &format!("  missed by {margin}\n");
    }
    if let Some(company) = &lacking.company {
        text += "\n  Who is there\n";
        text += &wrapped(place, &at_refusing_stage(company, &refusal.constraint));
    }
    if let Some(promised) = &lacking.way {
        text += &format!(
            "\n  With a deadline of {} it would rest on\n",
            promised.guarantee
        );
        text += &way(promised);
    }
    let remedies = lacking.remedies.iter();
    let changes: Vec<_> = remedies.map(|remedy| change(remedy, explainer)).collect();
    text + &match changes.is_empty() {
        true => listed("What would have to change", &[NO_REMEDY.to_owned()]),
        false => listed(
            "What would have to change: one of these, each was tried",
            &changes,
        ),
    }
}

const NO_REMEDY: &str = "more than one thing: a smaller rate or burst, a later deadline, another \
    class, a flow less, faster links or larger budgets do not suffice by themselves";

/// Where a link has not enough rate, rates tell more than bursts do.
fn at_refusing_stage(company: &Competition, constraint: &Constraint) -> Vec<String> {
    match constraint {
        Constraint::Rate { .. } => {
            let mut rivals: Vec<&Rival> = company.rivals.iter().collect();
            rivals.sort_by_key(|rival| std::cmp::Reverse(rival.rate));
            let named = rivals.iter().take(MOST_RIVALS);
            let mut phrases: Vec<_> = named
                .map(|rival| format!("{} {} (class {})", rival.name, rival.rate, rival.class))
                .collect();
            if rivals.len() > MOST_RIVALS {
                phrases.push(format!("{} more", rivals.len() - MOST_RIVALS));
            }
            phrases
        }
        Constraint::Malformed(_)
        | Constraint::NoBudget { .. }
        | Constraint::Deadline { .. }
        | Constraint::FrameRate { .. }
        | Constraint::Delay { .. }
        | Constraint::Unbounded { .. }
        | Constraint::Buffer { .. }
        | Constraint::Frames { .. }
        | Constraint::FrameBuffer { .. }
        | Constraint::NotReserved { .. }
        | Constraint::UnboundedChange
        | Constraint::Overtaken { .. }
        | Constraint::ForSignals { .. }
        | Constraint::NoWay
        | _ => self::company(company),
    }
}

fn change(remedy: &Remedy, explainer: &Explainer<'_>) -> String {
    let mut text = match &remedy.change {
        RemedyChange::Rate(rate) => format!("a rate of no more than {rate}"),
        RemedyChange::Burst(burst) => format!("a burst of no more than {burst}"),
        RemedyChange::Deadline(deadline) => format!("a deadline of {deadline} or later"),
        RemedyChange::Class(class) => format!("class {class}"),
        RemedyChange::Without(flow) => format!("without {}", explainer.name_of(*flow)),
        RemedyChange::Budgets => "nothing but larger budgets".to_owned(),
        RemedyChange::Links(faster) => {
            let faster = faster
                .iter()
                .map(|(stage, rate)| format!("{} at {rate}", explainer.place_of(*stage)));
            faster.collect::<Vec<_>>().join(", ")
        }
    };
    let by: Vec<_> = remedy
        .budgets
        .iter()
        .take(MOST_BUDGETS)
        .map(|larger| {
            let from = larger
                .from
                .map_or_else(|| "none".to_owned(), |it| it.to_string());
            let place = explainer.place_of(larger.stage);
            match larger.class {
                0 => format!("{place} from {from} to {}", larger.to),
                class => format!("{place} class {class} from {from} to {}", larger.to),
            }
        })
        .collect();
    if !by.is_empty() {
        let more = match remedy.budgets.len().saturating_sub(MOST_BUDGETS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text += &format!(", with budgets of {}{more}", by.join(", "));
    }
    text + &format!(": guarantee {}", remedy.guarantee)
}
