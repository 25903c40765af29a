//! Makes flows of control blocks with an address and subscribers.

use std::collections::BTreeMap;

use roxmltree::Node;
use units::Duration;

use super::Lines;
use super::addresses::{Address, Communication};
use super::data_types::DataTypes;
use super::frame_size::{self, asdus};
use super::publishers::{BlockKey, ControlBlock, Publishers, PublishingService};
use super::subscribers::Subscribers;
use super::{Element, attribute, children, usual_deadline};
use crate::class::DEFAULT_CLASSES;
use crate::flow::{
    DEFAULT_CHANGES, DEFAULT_JITTER, DEFAULT_MAX_TIME, DEFAULT_MIN_TIME, LONGEST_JITTER,
    SAMPLE_PERIODS,
};
use crate::flow_table::FlowNames;
use crate::flow_table::{
    DEFAULT_FREQUENCY_HZ, FlowSet, GOOSE, ImportedFlow, Matching, Open, Options, Remark,
    SAMPLED_VALUES,
};
use crate::limits::{MOST_FLOWS, MOST_RECEIVERS};
use crate::mistake::quote;
use crate::{Goose, SampledValues, StateChanges, Traffic};

/// Why a control block is no flow: what is wrong, and what would be right.
type Flaw = (String, String);

/// What is known of the whole description.
struct Description<'d, 'o> {
    publishers: Publishers<'d>,
    communication: Communication<'d>,
    subscribers: Subscribers<'d>,
    types: DataTypes<'d>,
    lines: &'o Lines,
    options: &'o Options,
    /// The frequency of the power system in thousandths of Hz.
    frequency_mhz: u64,
}

/// Reads the flows of a description.
pub(super) fn read<'d>(
    root: Element<'d>,
    communication: Element<'d>,
    lines: &Lines,
    options: &Options,
) -> FlowSet {
    let mut set = FlowSet::default();
    let publishers = Publishers::read(root);
    let description = Description {
        subscribers: Subscribers::read(&publishers, lines, &mut set),
        communication: Communication::read(communication),
        types: DataTypes::read(root),
        frequency_mhz: frequency(root, options),
        publishers,
        lines,
        options,
    };
    description.note_whole(root, &mut set);
    description.read_blocks(&mut set);
    description.note_dangling_addresses(&mut set);
    set.left_out.sort_by_key(|remark| remark.line);
    set.assumed.sort_by_key(|remark| remark.line);
    set
}

/// Returns the frequency of the power system in thousandths of Hz: as the caller
/// says, else the highest that a voltage level states.
fn frequency(root: Element<'_>, options: &Options) -> u64 {
    let levels = children(root, "Substation")
        .flat_map(|substation| children(substation, "VoltageLevel"))
        .filter_map(|level| thousandths(attribute(level, "nomFreq").trim()));
    let plausible = 1_000..=1_000_000;
    let stated = levels
        .filter(|frequency| plausible.contains(frequency))
        .max();
    let wanted = options.frequency_hz.map(|hz| u64::from(hz) * 1_000);
    wanted
        .or(stated)
        .unwrap_or(u64::from(DEFAULT_FREQUENCY_HZ) * 1_000)
        .max(1)
}

/// Returns a decimal number in thousandths; further decimals are cut off.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part: String = format!("{part}000").chars().take(3).collect();
    let (whole, part): (u64, u64) = (whole.parse().ok()?, part.parse().ok()?);
    whole.checked_mul(1_000)?.checked_add(part)
}

impl<'d> Description<'d, '_> {
    fn name(&self, open: Open) -> &'static str {
        self.options.said.name(open)
    }

    /// Notes what was assumed of the description as a whole.
    fn note_whole(&self, root: Element<'d>, set: &mut FlowSet) {
        if self.options.deadline.is_none() {
            let reason = format!(
                "GOOSE and Sampled Values have a deadline of {}: a fifth of the 3 ms of transfer \
                 time class TT6",
                usual_deadline()
            );
            self.assume(
                root,
                "deadlines",
                &reason,
                &format!("give `{}` for another", self.name(Open::Deadline)),
                set,
            );
        }
        let networks = &self.communication.sub_networks;
        if let (true, None) = (networks.len() > 1, &self.options.sub_network) {
            let names: Vec<_> = networks
                .iter()
                .map(|name| format!("`{}`", quote(name)))
                .collect();
            let reason = format!("the flows of all are read: {}", names.join(", "));
            let help = format!("give `{}` for one of them", self.name(Open::SubNetwork));
            self.assume(root, "sub-networks", &reason, &help, set);
        }
        for access_point in &self.communication.redundant {
            let ied = attribute(*access_point, "iedName");
            let reason = "it has a redundant connection; one copy of its flows is asked for";
            self.assume(*access_point, &format!("`{}`", quote(ied)), reason, "", set);
        }
        for element in &self.publishers.repeated {
            let name = attribute(*element, "name");
            let reason = format!("a second {} of this name", element.tag_name().name());
            self.leave_out(*element, name, (reason, "names are unique".to_owned()), set);
        }
    }

    fn read_blocks(&self, set: &mut FlowSet) {
        let mut names = FlowNames::default();
        let limit = usize::try_from(MOST_FLOWS).unwrap_or(usize::MAX);
        let mut groups = BTreeMap::new();
        for index in 0..self.publishers.blocks.len() {
            let block = &self.publishers.blocks[index];
            let label = label(block.key);
            let flow = match set.flows.len() < limit {
                true => self.flow(index, set),
                false => Err((format!("{limit} flows were read already"), String::new())),
            };
            match flow {
                Ok(flow) => {
                    let name = names.give(&wanted_names(block.key));
                    self.note_group(block, &flow, &mut groups, set);
                    set.flows.push(ImportedFlow { name, ..flow });
                }
                Err(flaw) => self.leave_out(block.element, &label, flaw, set),
            }
        }
    }

    /// Notes that two control blocks publish to the same group.
    fn note_group(
        &self,
        block: &ControlBlock<'d>,
        flow: &ImportedFlow,
        groups: &mut BTreeMap<([u8; 6], Option<u16>), String>,
        set: &mut FlowSet,
    ) {
        let Some(mac) = flow.matching.destination else {
            return;
        };
        let label = label(block.key);
        if let Some(other) = groups.insert((mac, flow.matching.vlan), label.clone()) {
            let reason = format!("it publishes to the same address as `{}`", quote(&other));
            let help = "switches tell them apart by their senders only";
            self.assume(
                block.element,
                &format!("`{}`", quote(&label)),
                &reason,
                help,
                set,
            );
        }
    }

    /// Notes the addresses that no control block has.
    fn note_dangling_addresses(&self, set: &mut FlowSet) {
        for (key, addresses) in &self.communication.addresses {
            if self.publishers.by_key.contains_key(key) {
                continue;
            }
            let known = self.publishers.ieds.contains_key(key.ied);
            let reason = match known {
                true => format!("the IED has no such {}", key.service.control_element()),
                false => "there is no such IED".to_owned(),
            };
            let help = "correct iedName, ldInst and cbName, or add what they name".to_owned();
            for address in addresses {
                let flaw = (reason.clone(), help.clone());
                self.leave_out(address.element, &label(*key), flaw, set);
            }
        }
    }

    fn flow(&self, index: usize, set: &mut FlowSet) -> Result<ImportedFlow, Flaw> {
        let block = &self.publishers.blocks[index];
        let (key, element) = (block.key, block.element);
        if attribute(element, "type") == "GSSE" {
            return Err(("it publishes GSSE".to_owned(), "there is GOOSE".to_owned()));
        }
        let address = self.address(block, set)?;
        if block.data_set.is_none() {
            let wanted = attribute(element, "datSet");
            let reason = match wanted {
                "" => "it has no data set, so it publishes nothing".to_owned(),
                wanted => format!("its data set `{}` is not in its LN0", quote(wanted)),
            };
            return Err((
                reason,
                "name a DataSet of the same LN0 in datSet".to_owned(),
            ));
        }
        let receivers = self.receivers(index, address, set)?;
        let traffic = self.traffic(block, address, set)?;
        let (class, ether_type) = match key.service {
            PublishingService::Goose => ("protection", GOOSE),
            PublishingService::SampledValues => ("sampled-values", SAMPLED_VALUES),
        };
        let queue = DEFAULT_CLASSES.into_iter().find(|(name, _)| *name == class);
        Ok(ImportedFlow {
            name: String::new(),
            source: key.ied.to_owned(),
            receivers,
            matching: Matching {
                ether_type: Some(ether_type),
                destination: Some(address.mac()?),
                vlan: Some(address.vlan()?).filter(|vlan| *vlan > 0),
                ..Matching::default()
            },
            class,
            queue: queue.map_or(0, |(_, queue)| queue),
            priority: Some(address.priority()?),
            traffic,
            deadline: Some(self.options.deadline.unwrap_or(usual_deadline())),
            line: self.line_of(element),
            address: address.element.range().start,
        })
    }

    /// Returns the address of a control block; further ones are left out.
    fn address(&self, block: &ControlBlock<'d>, set: &mut FlowSet) -> Result<Address<'d>, Flaw> {
        let all = self.communication.addresses.get(&block.key);
        let all = all.map_or(&[][..], Vec::as_slice);
        let wanted = self.options.sub_network.as_deref();
        let wanted = |address: &&Address<'_>| wanted.is_none_or(|net| address.sub_network == net);
        let mut fitting = all.iter().filter(wanted);
        let Some(first) = fitting.next() else {
            let element = block.key.service.address_element();
            return Err(match all.first() {
                Some(other) => {
                    let network = quote(other.sub_network);
                    (
                        format!("it publishes in sub-network `{network}`"),
                        String::new(),
                    )
                }
                None => (
                    format!("it has no address: no <{element}> under <Communication>"),
                    format!("add <{element} ldInst=… cbName=…> to the ConnectedAP of the IED"),
                ),
            });
        };
        for further in fitting {
            let network = quote(further.sub_network);
            let reason = format!("it publishes in sub-network `{network}`, too");
            let option = self.name(Open::SubNetwork);
            let help = format!("give `{option}` to ask for that one instead");
            self.leave_out(further.element, &label(block.key), (reason, help), set);
        }
        Ok(*first)
    }

    fn receivers(
        &self,
        index: usize,
        address: Address<'d>,
        set: &mut FlowSet,
    ) -> Result<Vec<String>, Flaw> {
        let block = &self.publishers.blocks[index];
        let mut receivers = Vec::new();
        if self.subscribers.of(index).is_empty() {
            let own = |name: &&String| *name != block.key.ied;
            receivers.extend(self.options.receivers.iter().filter(own).cloned());
        }
        for ied in self.subscribers.of(index) {
            let connected = self.communication.connected.get(ied);
            match connected {
                Some(networks) if !networks.contains(address.sub_network) => {
                    let networks: Vec<_> = networks.iter().map(|net| quote(net)).collect();
                    let reason = format!(
                        "`{}` subscribes to it and is connected to `{}`, not to `{}`",
                        quote(ied),
                        networks.join("`, `"),
                        quote(address.sub_network)
                    );
                    let help = "connect it by a ConnectedAP".to_owned();
                    self.leave_out(block.element, &label(block.key), (reason, help), set);
                }
                Some(_) | None => receivers.push((*ied).to_owned()),
            }
        }
        let limit = usize::try_from(MOST_RECEIVERS).unwrap_or(usize::MAX);
        match receivers.len() {
            0 => {
                let help = "bind an ExtRef to it, or list receivers by IEDName".to_owned();
                Err(("nobody subscribes to it".to_owned(), help))
            }
            count if count > limit => {
                let reason = format!("{count} subscribers are more than the {limit} allowed");
                Err((reason, String::new()))
            }
            _ => Ok(receivers),
        }
    }

    fn traffic(
        &self,
        block: &ControlBlock<'d>,
        address: Address<'d>,
        set: &mut FlowSet,
    ) -> Result<Traffic, Flaw> {
        let size = frame_size::of(block, &self.publishers, &self.types);
        if let Some(reason) = size.assumed {
            let reason = format!("frames of {} are assumed: {reason}", size.frame);
            let subject = format!("`{}`", quote(&label(block.key)));
            self.assume(
                block.element,
                &subject,
                &reason,
                "complete DataTypeTemplates",
                set,
            );
        }
        let jitter = self.options.jitter.map(|jitter| jitter.min(LONGEST_JITTER));
        match block.key.service {
            PublishingService::Goose => {
                let (min_time, max_time) = self.goose_times(block, address, set)?;
                Ok(Traffic::Goose(Goose {
                    frame: size.frame,
                    min_time,
                    max_time,
                    min_spacing: min_time,
                    changes: StateChanges::Every(DEFAULT_CHANGES.max(min_time)),
                    jitter: jitter.unwrap_or(DEFAULT_JITTER),
                }))
            }
            PublishingService::SampledValues => {
                let period = self.sample_period(block)?;
                Ok(Traffic::SampledValues(SampledValues {
                    frame: size.frame,
                    period,
                    jitter: jitter.unwrap_or(period),
                }))
            }
        }
    }

    fn goose_times(
        &self,
        block: &ControlBlock<'d>,
        address: Address<'d>,
        set: &mut FlowSet,
    ) -> Result<(Duration, Duration), Flaw> {
        let stated = address.time("MinTime")?;
        if stated.is_none() {
            let reason = format!("it states no MinTime; {DEFAULT_MIN_TIME} is assumed");
            let subject = format!("`{}`", quote(&label(block.key)));
            self.assume(
                address.element,
                &subject,
                &reason,
                "add <MinTime> to its <GSE>",
                set,
            );
        }
        let min_time = stated.unwrap_or(DEFAULT_MIN_TIME);
        let max_time = address.time("MaxTime")?.unwrap_or(DEFAULT_MAX_TIME);
        Ok((min_time, max_time.max(min_time)))
    }

    /// Returns the time between two frames, rounded down to nanoseconds.
    fn sample_period(&self, block: &ControlBlock<'_>) -> Result<Duration, Flaw> {
        let text = attribute(block.element, "smpRate");
        let rate = text
            .parse::<u64>()
            .ok()
            .filter(|rate| (1..1_000_000).contains(rate));
        let rate = rate.ok_or_else(|| {
            let reason = format!("`{}` is no smpRate", quote(text));
            (reason, "a number, such as 80 samples a period".to_owned())
        })?;
        let samples = asdus(block);
        let ns = match attribute(block.element, "smpMod") {
            "" | "SmpPerPeriod" => 1_000_000_000_000 * samples / (rate * self.frequency_mhz),
            "SmpPerSec" => 1_000_000_000 * samples / rate,
            "SecPerSmp" => (1_000_000_000 * samples).saturating_mul(rate),
            other => {
                let help = "SmpPerPeriod, SmpPerSec or SecPerSmp".to_owned();
                return Err((format!("`{}` is no smpMod", quote(other)), help));
            }
        };
        let (least, most) = SAMPLE_PERIODS;
        match Duration::from_ns(ns) {
            period if (least..=most).contains(&period) => Ok(period),
            period => Err((
                format!("a frame every {period}"),
                format!("Sampled Values come every {least} to {most}"),
            )),
        }
    }

    fn line_of(&self, element: Element<'_>) -> u32 {
        self.lines.line_of(element.range().start)
    }

    fn leave_out(&self, element: Element<'_>, name: &str, flaw: Flaw, set: &mut FlowSet) {
        let (reason, help) = flaw;
        set.leave_out(Remark {
            line: self.line_of(element),
            subject: format!("`{}`", quote(name)),
            reason,
            help,
        });
    }

    fn assume(
        &self,
        element: Node<'_, '_>,
        subject: &str,
        reason: &str,
        help: &str,
        set: &mut FlowSet,
    ) {
        set.assume(Remark {
            line: self.lines.line_of(element.range().start),
            subject: subject.to_owned(),
            reason: reason.to_owned(),
            help: help.to_owned(),
        });
    }
}

/// Returns what a control block is called in a remark.
fn label(key: BlockKey<'_>) -> String {
    format!("{}/{}/{}", key.ied, key.device, key.block)
}

/// Returns the names that a flow may have, the best first.
fn wanted_names(key: BlockKey<'_>) -> [String; 2] {
    let BlockKey {
        ied, device, block, ..
    } = key;
    [format!("{ied}.{block}"), format!("{ied}.{device}.{block}")]
}
