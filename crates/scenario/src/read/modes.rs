//! Reads the levels of a network, and how flows are treated at each.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use crate::format::{FLOW_LEVEL, MODES};
use crate::mistake::Mistake;
use crate::modes::{DEFAULT_HEARTBEAT, DEFAULT_HOLD};
use crate::names::Names;
use crate::problem::{Problems, TextSpan};
use crate::read::flows::{FlowReader, Terms};
use crate::record::{LayeredTable, Named};
use crate::shape::{is_name, list};
use crate::{
    Criticality, HostIndex, LevelIndex, MOST_LEVELS, Message, MessageContract, Modes, NamedLevel,
    Service, Strategy, Traffic, Treatment,
};

/// The levels and their names.
pub(super) struct Levels {
    pub(super) modes: Option<Modes>,
    pub(super) names: Names<LevelIndex>,
}

/// Reads `[modes]`.
pub(super) fn read(file: &LayeredTable<'_>, problems: &mut Problems) -> Levels {
    let mut names = Names::new("level", "`levels` of [modes]");
    if !file.has("modes") {
        return Levels { modes: None, names };
    }
    let record = file.record("modes", &MODES);
    let mut levels = read_levels(&record, &mut names, problems);
    read_serve(&record, &names, &mut levels, problems);
    let default = record
        .text("default")
        .and_then(|name| names.find(name, record.place_of("default"), problems));
    let modes = Modes {
        levels,
        strategy: match record.choice("strategy") {
            Some("std-sdn") => Strategy::StdSdn,
            Some("mc-agnostic") => Strategy::McAgnostic,
            Some(_) | None => Strategy::Taktos,
        },
        hold: record.time_or_never("hold").unwrap_or(Some(DEFAULT_HOLD)),
        heartbeat: record.time("heartbeat").unwrap_or(DEFAULT_HEARTBEAT),
        default: default.unwrap_or_default(),
    };
    Levels {
        modes: Some(modes),
        names,
    }
}

fn read_levels(
    record: &LayeredTable<'_>,
    names: &mut Names<LevelIndex>,
    problems: &mut Problems,
) -> Vec<NamedLevel> {
    let mut levels: Vec<NamedLevel> = Vec::new();
    let stated = record.texts("levels");
    let (count, place) = (stated.len(), record.place_of("levels"));
    if count > MOST_LEVELS {
        let (what, limit) = ("levels", MOST_LEVELS);
        problems.report(place, Mistake::TooMany { what, count, limit });
    } else if record.has("levels") && count < 2 {
        let sentence = format!("{count} levels leave nothing to change between");
        let help = "name two at least, or remove [modes]";
        problems.report(place, contradiction(sentence, help));
    }
    for (name, place) in stated.into_iter().take(MOST_LEVELS) {
        if !is_name(name) {
            let text = crate::mistake::quote(name);
            problems.report(place.clone(), Mistake::NotAName { text });
        }
        names.give(name, LevelIndex(levels.len()), place, problems);
        let number = u8::try_from(levels.len()).expect("no more than eight");
        levels.push(NamedLevel {
            name: name.to_owned(),
            serves: Criticality(number),
        });
    }
    levels
}

/// Reads what the levels serve: never more at a higher one, everything at the lowest.
fn read_serve(
    record: &LayeredTable<'_>,
    names: &Names<LevelIndex>,
    levels: &mut [NamedLevel],
    problems: &mut Problems,
) {
    let mut places: BTreeMap<LevelIndex, TextSpan> = BTreeMap::new();
    for named in record.named("serve") {
        let Some(level) = names.find(named.name, named.place.clone(), problems) else {
            continue;
        };
        let criticality = named.item.get_ref().as_integer();
        let criticality = criticality.and_then(|number| number.as_str().parse().ok());
        if let Some(level) = levels.get_mut(level.0) {
            level.serves = Criticality(criticality.unwrap_or(0));
        }
        places.insert(level, named.item.span());
    }
    let place = |level: usize| {
        let own = places.get(&LevelIndex(level)).cloned();
        own.unwrap_or_else(|| record.place_of("serve"))
    };
    if let Some(lowest) = levels
        .first()
        .filter(|lowest| lowest.serves > Criticality(0))
    {
        let sentence = format!("`{}`, the lowest level, does not serve all", lowest.name);
        let help = "flows that are never served are none: let it serve 0";
        problems.report(place(0), contradiction(sentence, help));
    }
    for (at, pair) in levels.windows(2).enumerate() {
        if pair[1].serves < pair[0].serves {
            let sentence = format!(
                "`{}` serves criticality {} and `{}`, the level below, only {}",
                pair[1].name, pair[1].serves.0, pair[0].name, pair[0].serves.0
            );
            let help = "a higher level gives up more, not less";
            problems.report(place(at + 1), contradiction(sentence, help));
        }
    }
}

impl Levels {
    /// Returns how a flow is treated at each level that says nothing of it.
    pub(super) fn by_criticality(&self, traffic: &Traffic, terms: &Terms) -> Vec<Treatment> {
        self.walk(traffic, terms, |_, _, _| Stated::Nothing)
    }

    /// Returns how a flow is treated at each level, with what its `modes` say.
    pub(super) fn of_flow(
        &self,
        record: &LayeredTable<'_>,
        traffic: &Traffic,
        terms: &Terms,
        reader: &mut LevelReader<'_>,
    ) -> Vec<Treatment> {
        let Some(stated) = record.item("modes") else {
            return self.by_criticality(traffic, terms);
        };
        let Some(stated) = stated.get_ref().as_table() else {
            return Vec::new();
        };
        if self.modes.is_none() {
            let sentence = "the network has no levels".to_owned();
            let help = "name them under [modes]: levels = [\"lo\", \"hi\"]";
            let place = record.place_of("modes");
            reader.problems.report(place, contradiction(sentence, help));
            return Vec::new();
        }
        let stated = self.find(stated, reader);
        self.walk(traffic, terms, |level, below, reads| {
            match stated.get(&level) {
                None => Stated::Nothing,
                Some(named) => reader.read(named, below, reads),
            }
        })
    }

    /// Returns what is stated by the number of its level.
    fn find<'a>(
        &self,
        stated: &'a DeTable<'a>,
        reader: &mut LevelReader<'_>,
    ) -> BTreeMap<LevelIndex, Named<'a>> {
        let mut found = BTreeMap::new();
        for (name, item) in stated.iter() {
            let (name, place) = (name.get_ref(), name.span());
            let level = self.names.find(name, place.clone(), reader.problems);
            let Some(level) = level else { continue };
            if level == LevelIndex(0) {
                let sentence = format!("`{name}` is the lowest level");
                let help = "what a flow asks for there stands in its own keys";
                reader.problems.report(place, contradiction(sentence, help));
                continue;
            }
            found.insert(level, Named { name, place, item });
        }
        found
    }

    /// Returns the treatment at each level, from the lowest; `stated` is asked about
    /// those above it, each with the service below.
    fn walk(
        &self,
        traffic: &Traffic,
        terms: &Terms,
        mut stated: impl FnMut(LevelIndex, &Service, &Traffic) -> Stated,
    ) -> Vec<Treatment> {
        let Some(modes) = &self.modes else {
            return Vec::new();
        };
        let mut service = Service {
            class: terms.class,
            deadline: terms.deadline,
            message: message_contract(traffic),
        };
        let mut treatments = vec![Treatment::Served(service)];
        let mut given_up = false;
        for (at, level) in modes.levels.iter().enumerate().skip(1) {
            match stated(LevelIndex(at), &service, traffic) {
                Stated::Nothing => {}
                Stated::Drop => given_up = true,
                Stated::Serve(stated) => {
                    service = stated;
                    given_up = false;
                    treatments.push(Treatment::Served(service));
                    continue;
                }
            }
            let dropped = given_up || level.serves > terms.criticality;
            treatments.push(match dropped {
                true => Treatment::Dropped,
                false => Treatment::Served(service),
            });
        }
        treatments
    }
}

/// What a flow says of a level.
pub(super) enum Stated {
    Nothing,
    Drop,
    Serve(Service),
}

/// What reading a level of a flow needs beside the level.
pub(super) struct LevelReader<'a> {
    /// What is known of classes and links.
    pub(super) flows: &'a FlowReader<'a>,
    pub(super) ends: (HostIndex, &'a [HostIndex]),
    pub(super) problems: &'a mut Problems,
}

impl LevelReader<'_> {
    fn read(&mut self, named: &Named<'_>, below: &Service, traffic: &Traffic) -> Stated {
        let DeValue::Table(_) = named.item.get_ref() else {
            return Stated::Drop;
        };
        let Some(record) = named.record(&FLOW_LEVEL) else {
            return Stated::Drop;
        };
        self.check_keys(&record, traffic);
        let class = record.text("class");
        let class = class.and_then(|name| {
            let place = record.place_of("class");
            self.flows.class(name, place, self.problems)
        });
        let mut service = Service {
            class: class.unwrap_or(below.class),
            deadline: record.time("deadline").or(below.deadline),
            message: below.message,
        };
        if let (Traffic::Message(agreed), Some(contract)) = (traffic, below.message) {
            service.message = Some(self.contract(&record, *agreed, contract));
        }
        Stated::Serve(service)
    }

    /// Returns what a flow of messages may send at a level; reports if that is less than
    /// at the level below, which would grant what this one does not.
    fn contract(
        &mut self,
        record: &LayeredTable<'_>,
        agreed: Message,
        below: MessageContract,
    ) -> MessageContract {
        let contract = MessageContract {
            size: record.size("size").unwrap_or(below.size),
            period: record.time("period").unwrap_or(below.period),
        };
        let place = record.place_of(if record.has("period") {
            "period"
        } else {
            "size"
        });
        if !contract.grants(&below) {
            let sentence = format!(
                "{} every {} is less than {} every {} at the level below",
                contract.size, contract.period, below.size, below.period
            );
            let help = "a higher level grants a flow no less, or drops it";
            self.problems.report(place, contradiction(sentence, help));
            return contract;
        }
        let message = Message {
            size: contract.size,
            period: contract.period,
            ..agreed
        };
        let (traffic, (from, to)) = (Traffic::Message(message), self.ends);
        self.flows
            .check_rate(&traffic, from, to, &place, self.problems);
        contract
    }

    fn check_keys(&mut self, record: &LayeredTable<'_>, traffic: &Traffic) {
        let (kind, known): (_, &[&str]) = match traffic {
            Traffic::Message(_) => return,
            Traffic::SampledValues(_) => ("sampled-values", &["class", "deadline"]),
            Traffic::Goose(_) => ("goose", &["class", "deadline"]),
            Traffic::Udp(_) => ("udp", &["class", "deadline"]),
            Traffic::Trace(_) => ("trace", &["class", "deadline"]),
            Traffic::Mms(_) => ("mms", &["class", "deadline"]),
            Traffic::BestEffort(_) => ("best-effort", &["class"]),
        };
        for (key, place) in record.own_keys() {
            if !known.contains(&key) && record.knows(key) {
                let mistake = Mistake::KeyOfAnotherKind {
                    key: key.to_owned(),
                    kind,
                    known: list(known.iter().copied()),
                };
                self.problems.report(place, mistake);
            }
        }
    }
}

/// Returns what a flow of messages may send.
fn message_contract(traffic: &Traffic) -> Option<MessageContract> {
    match traffic {
        Traffic::Message(message) => Some(MessageContract {
            size: message.size,
            period: message.period,
        }),
        Traffic::SampledValues(_)
        | Traffic::Goose(_)
        | Traffic::Udp(_)
        | Traffic::Trace(_)
        | Traffic::Mms(_)
        | Traffic::BestEffort(_) => None,
    }
}

fn contradiction(sentence: String, help: &str) -> Mistake {
    Mistake::Contradiction {
        sentence,
        help: help.to_owned(),
    }
}

#[cfg(test)]
mod tests;
