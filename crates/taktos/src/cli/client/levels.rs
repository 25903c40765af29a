//! What a flow gets at levels of criticality, as the command line says it and shows it.

use units::{BitRate, DataSize, Duration};

use super::flows::{rate, time};
use crate::web::document::modal::{ContractDocument, LevelDocument, ModesDocument, ServedDocument};

/// What one flow gets at levels of criticality.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Levels of criticality")]
pub struct Levels {
    /// How critical it is, 7 the most: at a level of which nothing is said it is served
    /// if that is enough [default: 0].
    #[arg(long, value_name = "0-7", conflicts_with = "from")]
    criticality: Option<u8>,
    /// The messages that it may send at the lowest level, as in "154 kB/200 ms": the
    /// largest, and the least time between two. With it, the flow is watched.
    #[arg(long, value_name = "SIZE/PERIOD", value_parser = contract, conflicts_with = "from")]
    messages: Option<ContractDocument>,
    /// How much later than its time a message may leave its host.
    #[arg(long, requires = "messages")]
    release_jitter: Option<Duration>,
    /// What it gets at a level, as in "hi=drop" or "hi=154 kB/22 ms,deadline=22 ms": its
    /// messages, class, deadline, rate and burst; may be repeated.
    #[arg(long = "at", value_name = "LEVEL=…", value_parser = at_level, conflicts_with = "from")]
    at: Vec<(String, LevelDocument)>,
}

impl Levels {
    /// Returns what is said as a document, if anything is.
    pub fn document(&self) -> Option<ModesDocument> {
        let is_said = self.criticality.is_some() || self.messages.is_some() || !self.at.is_empty();
        is_said.then(|| ModesDocument {
            criticality: self.criticality.unwrap_or_default(),
            jitter_ns: self.release_jitter.map(Duration::as_ns).unwrap_or_default(),
            contract: self.messages,
            levels: self.at.iter().cloned().collect(),
        })
    }
}

fn contract(text: &str) -> Result<ContractDocument, String> {
    let expected =
        || format!("expected a size and a period as in \"154 kB/200 ms\", not \"{text}\"");
    let (size, period) = text.split_once('/').ok_or_else(expected)?;
    let size: DataSize = size.trim().parse().map_err(|_| expected())?;
    let period: Duration = period.trim().parse().map_err(|_| expected())?;
    Ok(ContractDocument {
        period_ns: period.as_ns(),
        size_bytes: u32::try_from(size.bytes_up()).map_err(|_| expected())?,
    })
}

fn at_level(text: &str) -> Result<(String, LevelDocument), String> {
    let (level, said) = text
        .split_once('=')
        .ok_or("expected a level and what it gets, as in \"hi=drop\"")?;
    if said.trim() == "drop" {
        return Ok((level.trim().to_owned(), LevelDocument::Drop));
    }
    let mut served = ServedDocument::default();
    for word in said.split(',').filter(|word| !word.trim().is_empty()) {
        match word.split_once('=') {
            Some((key, value)) => set(&mut served, key.trim(), value.trim())?,
            None => served.contract = Some(contract(word)?),
        }
    }
    Ok((level.trim().to_owned(), LevelDocument::Serve(served)))
}

fn set(served: &mut ServedDocument, key: &str, value: &str) -> Result<(), String> {
    let wrong = |_| format!("`{value}` is no {key}");
    match key {
        "class" => {
            served.class = Some(
                value
                    .parse()
                    .map_err(|_| format!("`{value}` is no class"))?,
            );
        }
        "deadline" => {
            served.deadline_ns = Some(value.parse::<Duration>().map_err(wrong)?.as_ns());
        }
        "rate" => {
            let rate = value.parse::<BitRate>();
            served.rate_bps = Some(rate.map_err(|_| format!("`{value}` is no rate"))?.as_bps());
        }
        "burst" => {
            let burst = value.parse::<DataSize>();
            let burst = burst.map_err(|_| format!("`{value}` is no burst"))?;
            served.burst_bytes = Some(burst.bytes_up());
        }
        other => {
            return Err(format!(
                "`{other}` is not among class, deadline, rate and burst"
            ));
        }
    }
    Ok(())
}

/// Returns what a flow gets at levels, for people: a name and a sentence each.
pub fn described(modes: &ModesDocument) -> Vec<(&'static str, String)> {
    let mut list = vec![("criticality", modes.criticality.to_string())];
    list.extend(modes.contract.map(|it| ("messages", messages(it))));
    let levels = modes.levels.iter();
    list.extend(
        levels.map(|(level, gets)| ("at a level", format!("{level}: {}", treatment(gets)))),
    );
    list
}

fn treatment(gets: &LevelDocument) -> String {
    let served = match gets {
        LevelDocument::Drop => return "dropped".to_owned(),
        LevelDocument::Serve(served) => served,
    };
    let mut words = vec!["served".to_owned()];
    words.extend(served.contract.map(messages));
    words.extend(served.class.map(|class| format!("class {class}")));
    let deadline = served.deadline_ns.map(time);
    words.extend(deadline.map(|deadline| format!("deadline {deadline}")));
    words.extend(served.rate_bps.map(rate));
    words.join(", ")
}

fn messages(contract: ContractDocument) -> String {
    format!(
        "{} every {}",
        DataSize::from_bytes(u64::from(contract.size_bytes)),
        time(contract.period_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_dropped_or_served_as_it_is_said() {
        let (level, dropped) = at_level("hi=drop").unwrap();
        let (_, served) = at_level("hi=154 kB/22 ms, class=7,deadline=22 ms").unwrap();

        assert_eq!((level.as_str(), dropped), ("hi", LevelDocument::Drop));
        assert_eq!(
            treatment(&served),
            "served, 154 kB every 22 ms, class 7, deadline 22 ms"
        );
        let (_, as_below) = at_level("hi=").unwrap();
        assert_eq!(as_below, LevelDocument::Serve(ServedDocument::default()));
    }

    #[test]
    fn what_cannot_be_read_is_said_with_what_can() {
        for (text, said) in [
            ("hi", "as in \"hi=drop\""),
            ("hi=dorp", "154 kB/200 ms"),
            ("hi=prio=7", "class, deadline, rate and burst"),
            ("hi=class=x", "`x` is no class"),
            ("hi=1 kB/soon", "154 kB/200 ms"),
        ] {
            let error = at_level(text).unwrap_err();

            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
