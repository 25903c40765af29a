//! `taktos profile`: what switches are taken to be, whether what is seen of them agrees with
//! that, and a correction.

use std::fmt::Write as _;

use api::{
    FlowOutlook, HopEvidence, ProcessorProfile, ProfileOffer, ProfileStanding, ProfileWish, Raised,
};
use serde_json::Value;
use units::Duration;

use super::super::exit::Exit;
use super::sheet::{Head, count, draw, harmless};
use super::{Target, failure, put, segment};
use crate::client::Controller;
use crate::web::document::ProfilesDocument;

const PATH: &str = "/api/v1/profiles";

/// What `taktos profile` is told.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    #[command(subcommand)]
    command: Option<ProfileCommand>,
    #[command(flatten)]
    target: Target,
}

/// What is to be done.
#[derive(Debug, clap::Subcommand)]
enum ProfileCommand {
    /// Shows what switches are taken to be, and whether what is seen agrees with it.
    Show,
    /// Takes a switch to be as slow as explains all that was seen of it.
    Adopt(Adopt),
}

/// Which switch is corrected, and how.
#[derive(Debug, clap::Args)]
struct Adopt {
    /// The name or the datapath id of the switch.
    switch: String,
    /// By how many hundredths stays may be longer than the longest that was seen.
    #[arg(long, value_name = "PERCENT", default_value_t = ProfileWish::default().margin_percent)]
    margin: u32,
    /// What is raised: its latency, which it takes once, or the time of a frame, which it
    /// takes for each that waits.
    #[arg(long, value_enum, default_value = "latency")]
    raise: RaisedName,
    /// Say what would follow, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Withdraw the flows that are late then.
    #[arg(long, conflicts_with = "dry_run")]
    withdraw_late: bool,
}

/// What of a processor is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RaisedName {
    Latency,
    PerFrame,
}

/// Shows profiles, or corrects one.
pub fn profile(arguments: &ProfileArgs) -> Exit {
    let target = &arguments.target;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let shown = match &arguments.command {
        None | Some(ProfileCommand::Show) => {
            let asked = controller.get::<Value>(PATH);
            asked.and_then(|document| target.shown(document, &table))
        }
        Some(ProfileCommand::Adopt(adopt)) => {
            let asked = adopted(&controller, adopt);
            if adopt.withdraw_late
                && let Ok(document) = &asked
                && let Err(exit) = withdraw_late(target, &controller, document)
            {
                return exit;
            }
            asked.and_then(|document| target.shown(document, &offer))
        }
    };
    match shown {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}

fn adopted(controller: &Controller, adopt: &Adopt) -> Result<Value, crate::client::ClientError> {
    let dry = match adopt.dry_run {
        true => "?dry_run=true",
        false => "",
    };
    let wish = ProfileWish {
        margin_percent: adopt.margin,
        raise: match adopt.raise {
            RaisedName::Latency => Raised::Latency,
            RaisedName::PerFrame => Raised::PerFrame,
        },
    };
    controller.post(&format!("{PATH}/{}{dry}", segment(&adopt.switch)), &wish)
}

/// Withdraws the flows that are late by an offer that was adopted.
fn withdraw_late(target: &Target, controller: &Controller, document: &Value) -> Result<(), Exit> {
    let offer: ProfileOffer = target
        .read(document.clone())
        .map_err(|error| failure::complain(&error))?;
    for late in &offer.late {
        let path = format!("/api/v1/flows/{}", segment(&late.name));
        let withdrawn = controller.delete::<Value>(&path);
        withdrawn.map_err(|error| failure::complain(&error))?;
    }
    Ok(())
}

fn table(document: &ProfilesDocument) -> String {
    if document.switches.is_empty() {
        return "no switch is known\n".to_owned();
    }
    let rows = document.switches.iter().map(|switch| {
        let processor = switch.processor;
        let shown = |of: fn(ProcessorProfile) -> Duration| {
            processor.map(|it| of(it).to_string()).unwrap_or_default()
        };
        [
            switch.name.clone(),
            shown(|it| it.latency),
            shown(|it| it.per_frame),
            match switch.adopted {
                true => "adopted".to_owned(),
                false => "configured".to_owned(),
            },
            switch.standing.name().to_owned(),
            switch.frames.to_string(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let heads = [
        Head::Text("switch"),
        Head::Amount("latency"),
        Head::Amount("frame"),
        Head::Text("origin"),
        Head::Text("profile is"),
        Head::Amount("frames"),
    ];
    let mut text = draw(heads, &rows);
    for switch in &document.switches {
        switch.evidence.iter().for_each(|it| stay(&mut text, it));
        for doubt in &switch.doubts {
            let name = harmless(&switch.name);
            let _ = writeln!(text, "{name} spoke {} times of {}", doubt.times, doubt.what);
        }
        if switch.standing == ProfileStanding::Contradicted {
            let name = harmless(&switch.name);
            let _ = writeln!(
                text,
                "`taktos profile adopt {name} --dry-run` says what would explain it"
            );
        }
    }
    text
}

fn stay(text: &mut String, evidence: &HopEvidence) {
    let _ = writeln!(
        text,
        "{} stayed up to {} at {}, where {} are explained",
        harmless(&evidence.flow),
        evidence.longest,
        harmless(&evidence.at.to_string()),
        evidence.explained
    );
}

fn offer(offer: &ProfileOffer) -> String {
    let verb = match offer.adopted {
        true => "is taken to have",
        false => "would be taken to have",
    };
    let mut text = format!(
        "switch {} {verb} a latency of {} (before: {}) and {} a frame (before: {})\n",
        harmless(&offer.name),
        offer.after.latency,
        offer.before.latency,
        offer.after.per_frame,
        offer.before.per_frame
    );
    offer.explains.iter().for_each(|it| stay(&mut text, it));
    let _ = write!(
        text,
        "from {}, with {} % beyond the longest stay",
        count(usize::try_from(offer.frames).unwrap_or(usize::MAX), "frame"),
        offer.margin_percent
    );
    let _ = match offer.longer_per_million {
        Some(share) => writeln!(
            text,
            "; of a million frames like these at most {share} stay longer than any of them \
             (confidence 95 %)"
        ),
        None => writeln!(text, "; too few to say how many may stay longer"),
    };
    let in_time = count(offer.in_time, "flow");
    let _ = writeln!(text, "{in_time} in time, {} late", offer.late.len());
    if !offer.late.is_empty() {
        let rows: Vec<_> = offer.late.iter().map(row).collect();
        let heads = [
            Head::Text("late"),
            Head::Amount("deadline"),
            Head::Amount("before"),
            Head::Amount("after"),
            Head::Amount("by"),
        ];
        text += &draw(heads, &rows);
    }
    text
}

fn row(flow: &FlowOutlook) -> [String; 5] {
    [
        flow.name.clone(),
        flow.deadline.to_string(),
        flow.before.to_string(),
        flow.after.to_string(),
        flow.late_by.map(|by| by.to_string()).unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use api::{Place, PortId, SwitchProfile};
    use wire::openflow::{DatapathId, PortNumber};

    use super::*;

    fn evidence() -> HopEvidence {
        let port = PortId::new(DatapathId(2), PortNumber(3));
        HopEvidence {
            flow: "trip".to_owned(),
            at: Place::new(port, "s2".to_owned()),
            queue: 6,
            longest: Duration::from_us(300),
            explained: Duration::from_us(100),
            frames: 3,
        }
    }

    #[test]
    fn what_contradicts_a_profile_is_shown_with_what_helps() {
        let switch = SwitchProfile {
            datapath: DatapathId(2),
            name: "s2".to_owned(),
            processor: None,
            adopted: false,
            standing: ProfileStanding::Contradicted,
            frames: 12,
            evidence: vec![evidence()],
            doubts: Vec::new(),
        };

        let shown = table(&ProfilesDocument {
            switches: vec![switch],
        });

        assert!(shown.contains("trip stayed up to 300 us at s2"), "{shown}");
        assert!(shown.contains("contradicted"), "{shown}");
        assert!(
            shown.contains("taktos profile adopt s2 --dry-run"),
            "{shown}"
        );
    }

    #[test]
    fn an_offer_says_who_is_late_and_by_how_much() {
        let profile = |us| ProcessorProfile {
            latency: Duration::from_us(us),
            per_frame: Duration::from_us(2),
        };
        let late = FlowOutlook {
            name: "trip".to_owned(),
            deadline: Duration::from_us(400),
            before: Duration::from_us(200),
            after: Duration::from_us(450),
            late_by: Some(Duration::from_us(50)),
        };
        let shown = offer(&ProfileOffer {
            datapath: DatapathId(2),
            name: "s2".to_owned(),
            before: profile(10),
            after: profile(250),
            margin_percent: 20,
            frames: 3_000,
            longer_per_million: Some(1_000),
            explains: vec![evidence()],
            in_time: 4,
            late: vec![late],
            moved: Vec::new(),
            adopted: false,
        });

        assert!(
            shown.contains("would be taken to have a latency of 250 us"),
            "{shown}"
        );
        assert!(shown.contains("4 flows in time, 1 late"), "{shown}");
        assert!(shown.contains("at most 1000 stay longer"), "{shown}");
        assert!(shown.lines().last().unwrap().contains("50 us"), "{shown}");
    }
}
