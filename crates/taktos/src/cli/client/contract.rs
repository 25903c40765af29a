//! `taktos contract suggest`: contracts from what sources really send.

use std::fmt::Write as _;
use std::time::Duration as StdDuration;

use api::{ContractFigures, ContractSuggestion};
use serde_json::Value;

use super::super::exit::Exit;
use super::super::screen::Steps;
use super::sheet::{Head, count, draw, harmless};
use super::{Target, failure, put, segment};

/// How often a switch may be asked, and a little more.
const EVERY: StdDuration = StdDuration::from_millis(1_050);

/// What `taktos contract` is told.
#[derive(Debug, clap::Args)]
pub struct ContractArgs {
    #[command(subcommand)]
    command: ContractCommand,
    #[command(flatten)]
    target: Target,
}

/// What is to be done.
#[derive(Debug, clap::Subcommand)]
enum ContractCommand {
    /// Looks at what the source of a flow sends, and says which contracts that keeps.
    Suggest {
        /// The name of the flow.
        flow: String,
        /// For how many seconds it is looked at, beside what was seen before.
        #[arg(long = "for", value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
        seconds: u32,
    },
}

/// Looks at what a source sends, and shows what follows.
pub fn contract(arguments: &ContractArgs) -> Exit {
    let target = &arguments.target;
    let ContractCommand::Suggest { flow, seconds } = &arguments.command;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let path = format!("/api/v1/flows/{}/contract", segment(flow));
    let mut asked = controller.get::<Value>(&path);
    let mut steps = Steps::new(format!("looking at what {} sends", harmless(flow)));
    for passed in 0..*seconds {
        if asked.is_err() {
            break;
        }
        steps.show(passed.into(), (*seconds).into());
        std::thread::sleep(EVERY);
        asked = controller.get::<Value>(&path);
    }
    steps.close();
    match asked.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}

fn text(suggestion: &ContractSuggestion) -> String {
    let frames = usize::try_from(suggestion.frames).unwrap_or(usize::MAX);
    let mut text = format!(
        "{}: {} in {}, {} bit/s on average, {} beyond the contract\n",
        harmless(&suggestion.flow),
        count(frames, "frame"),
        suggestion.seen,
        suggestion.mean_rate_bps,
        suggestion.exceeded
    );
    let _ = match suggestion.exceeding_per_million {
        Some(share) => writeln!(
            text,
            "of a million frames like these at most {share} exceed the contract (confidence 95 %)"
        ),
        None if suggestion.exceeded > 0 => Ok(()),
        None => writeln!(text, "too few frames to say how many may exceed it"),
    };
    let row = |what: &str, of: ContractFigures, least: String, outcome: String| {
        [
            what.to_owned(),
            of.rate_bps.to_string(),
            of.burst_bytes.to_string(),
            least,
            outcome,
        ]
    };
    let promised = suggestion.guarantee.map(|it| it.round_up().to_string());
    let mut rows = vec![row(
        "as agreed",
        suggestion.contract,
        String::new(),
        promised.unwrap_or_default(),
    )];
    for offer in &suggestion.offers {
        let outcome = match (offer.guarantee, &offer.refusal) {
            (Some(guarantee), _) => guarantee.round_up().to_string(),
            (None, Some(refusal)) => format!("refused: {refusal}"),
            (None, None) => String::new(),
        };
        let least = offer.least_burst_bytes.to_string();
        rows.push(row(offer.kind.name(), offer.contract, least, outcome));
    }
    let heads = [
        Head::Text("contract"),
        Head::Amount("bit/s"),
        Head::Amount("burst, B"),
        Head::Amount("at least, B"),
        Head::Text("guarantee"),
    ];
    text + &draw(heads, &rows)
}

#[cfg(test)]
mod tests {
    use api::{ContractChange, ContractOffer};
    use units::Duration;

    use super::*;

    #[test]
    fn a_contract_that_would_be_refused_is_shown_with_the_reason() {
        let figures = |rate_bps| ContractFigures {
            rate_bps,
            burst_bytes: 300,
            largest_frame_bytes: 150,
            smallest_frame_bytes: 150,
        };
        let shown = text(&ContractSuggestion {
            flow: "sv".to_owned(),
            contract: figures(1_000_000),
            guarantee: None,
            seen: Duration::from_secs(5),
            frames: 5_000,
            exceeded: 100,
            mean_rate_bps: 1_200_000,
            exceeding_per_million: None,
            offers: vec![ContractOffer {
                kind: ContractChange::Wider,
                contract: figures(1_260_000),
                least_burst_bytes: 200,
                guarantee: None,
                refusal: Some("its deadline is too soon".to_owned()),
            }],
        });

        assert!(
            shown.starts_with("sv: 5000 frames in 5 s, 1200000 bit/s"),
            "{shown}"
        );
        assert!(shown.contains("100 beyond the contract"), "{shown}");
        assert!(
            shown.contains("refused: its deadline is too soon"),
            "{shown}"
        );
    }
}
