//! `taktos mode`: in which criticality mode a network is, and how that is changed.

use std::fmt::Write as _;

use api::{ModeChange, ModeReport};
use serde_json::Value;

use super::super::exit::Exit;
use super::{Target, failure, put};

const PATH: &str = "/api/v1/mode";

/// What `taktos mode` is told.
#[derive(Debug, clap::Args)]
pub struct Mode {
    #[command(subcommand)]
    change: Option<ModeCommand>,
    #[command(flatten)]
    target: Target,
}

/// What is to be done.
#[derive(Debug, clap::Subcommand)]
enum ModeCommand {
    /// Shows the mode.
    Show,
    /// Has the network go to a level and stay there, whatever flows demand.
    Force {
        /// The name or the number of the level.
        level: String,
    },
    /// Has the network go back to a level, if all flows were quiet.
    Lower {
        /// The name or the number of the level.
        level: String,
    },
    /// Keeps violations from raising the level.
    Lock,
    /// Lets violations raise the level, and the level fall by itself.
    Unlock,
}

/// Changes the mode, and shows it.
pub fn mode(arguments: &Mode) -> Exit {
    let target = &arguments.target;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let change = match &arguments.change {
        None | Some(ModeCommand::Show) => None,
        Some(ModeCommand::Force { level }) => Some(ModeChange::Force(level.clone())),
        Some(ModeCommand::Lower { level }) => Some(ModeChange::Lower(level.clone())),
        Some(ModeCommand::Lock) => Some(ModeChange::Locked(true)),
        Some(ModeCommand::Unlock) => Some(ModeChange::Locked(false)),
    };
    let asked = match change {
        None => controller.get::<Value>(PATH),
        Some(change) => controller.put::<Value>(PATH, &change),
    };
    match asked.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}

fn text(mode: &ModeReport) -> String {
    let mut text = format!(
        "level     {} of {} (era {})\n",
        mode.level,
        mode.levels.join(", "),
        mode.era
    );
    if let Some(origin) = &mode.origin {
        let _ = writeln!(text, "began at  {origin}");
    }
    let _ = writeln!(text, "strategy  {}", mode.strategy.name());
    if mode.locked {
        text.push_str("locked    violations do not raise the level\n");
    }
    if let Some(forced) = &mode.forced {
        let _ = writeln!(text, "forced    {forced}, until it is lowered or unlocked");
    }
    for switch in &mode.switches {
        let _ = match &switch.holds {
            None => writeln!(text, "{}: knows no modes", switch.name),
            Some(holds) => writeln!(
                text,
                "{}: serves {}, agreed {} (era {}), complete: {}",
                switch.name,
                holds.served,
                holds.level,
                holds.era,
                holds.complete.join(", ")
            ),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_and_a_switch_without_modes_are_said() {
        let document = ModeReport {
            levels: vec!["lo".to_owned(), "hi".to_owned()],
            strategy: api::Strategy::Taktos,
            level: "hi".to_owned(),
            era: 3,
            origin: Some("s1".to_owned()),
            locked: true,
            forced: None,
            hold: None,
            default: "lo".to_owned(),
            switches: vec![api::SwitchMode {
                name: "s2".to_owned(),
                holds: None,
            }],
        };

        let shown = text(&document);

        assert!(shown.starts_with("level     hi of lo, hi (era 3)\nbegan at  s1\n"));
        assert!(shown.contains("locked"));
        assert!(shown.ends_with("s2: knows no modes\n"));
    }
}
