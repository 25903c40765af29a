//! Who subscribes to which control block.
//!
//! An IED subscribes if
//!
//! - an `ExtRef` of it names the control block (`iedName`, `srcCBName`, and
//!   `srcLDInst`, or `ldInst` where that is not given);
//! - an `ExtRef` of it names only a datum (as edition 1 does): then it receives
//!   every control block of that IED whose data set holds the datum;
//! - it supervises the subscription: an `LGOS` or `LSVS` whose `GoCBRef` or
//!   `SvCBRef` holds the reference (later binding);
//! - the control block itself lists it (`IEDName`).
//!
//! `ExtRef`s without an `iedName` wait to be bound. Those of reports travel by
//! TCP and are no flows to groups.

use std::collections::{BTreeMap, BTreeSet};

use super::Lines;
use super::publishers::{
    BlockKey, NodeKey, Publishers, PublishingService, logical_devices, logical_nodes,
};
use super::{Element, attribute, children, text_of};
use crate::flow_table::{FlowSet, Remark};
use crate::mistake::quote;

/// The most control blocks that are followed from one datum.
const MOST_BLOCKS_OF_A_DATUM: usize = 1_000;

/// The subscribers of each control block, in the order of the file.
#[derive(Default)]
pub(super) struct Subscribers<'d> {
    known: BTreeSet<(usize, &'d str)>,
    by_block: BTreeMap<usize, Vec<&'d str>>,
    /// What cannot be followed: by IED and reason, where first and how often.
    lost: BTreeMap<(&'d str, String), (u32, usize, &'static str)>,
}

/// Where the data of data sets are published: by logical node and data object,
/// the control block and the attribute, empty for all.
type PublishedData<'d> = BTreeMap<(NodeKey<'d>, &'d str), Vec<(usize, &'d str)>>;

impl<'d> Subscribers<'d> {
    /// Follows all references; notes in `set` those that lead nowhere.
    pub(super) fn read(publishers: &Publishers<'d>, lines: &Lines, set: &mut FlowSet) -> Self {
        let mut all = Self::default();
        let data = all.published_data(publishers, lines);
        for (ied, element) in &publishers.ieds {
            for device in logical_devices(*element) {
                for node in logical_nodes(device) {
                    let inputs = children(node, "Inputs");
                    for reference in inputs.flat_map(|inputs| children(inputs, "ExtRef")) {
                        let line = lines.line_of(reference.range().start);
                        all.follow(ied, reference, publishers, &data, line);
                    }
                    all.supervised(ied, node, publishers, lines);
                }
            }
        }
        all.listed(publishers, lines);
        all.note_lost(set);
        all
    }

    /// Returns the IEDs that subscribe to a control block.
    pub(super) fn of(&self, block: usize) -> &[&'d str] {
        self.by_block.get(&block).map_or(&[], Vec::as_slice)
    }

    fn published_data(&mut self, publishers: &Publishers<'d>, lines: &Lines) -> PublishedData<'d> {
        let mut data = PublishedData::new();
        for (index, block) in publishers.blocks.iter().enumerate() {
            let ied = block.key.ied;
            let members = block
                .data_set
                .into_iter()
                .flat_map(|set| children(set, "FCDA"));
            for member in members {
                let key = (node_key(ied, member), attribute(member, "doName"));
                let published: &mut Vec<_> = data.entry(key).or_default();
                let entry = (index, attribute(member, "daName"));
                if published.len() < MOST_BLOCKS_OF_A_DATUM {
                    published.push(entry);
                } else {
                    let reason =
                        format!("more than {MOST_BLOCKS_OF_A_DATUM} control blocks hold one datum");
                    let line = lines.line_of(member.range().start);
                    self.lose(ied, reason, line, "name them by srcCBName");
                }
            }
        }
        data
    }

    fn add(&mut self, block: usize, ied: &'d str) {
        if self.known.insert((block, ied)) {
            self.by_block.entry(block).or_default().push(ied);
        }
    }

    fn lose(&mut self, ied: &'d str, reason: String, line: u32, help: &'static str) {
        let lost = self.lost.entry((ied, reason)).or_insert((line, 0, help));
        lost.0 = lost.0.min(line);
        lost.1 += 1;
    }

    fn note_lost(&mut self, set: &mut FlowSet) {
        let mut lost: Vec<_> = std::mem::take(&mut self.lost).into_iter().collect();
        lost.sort_by_key(|(_, (line, ..))| *line);
        for ((ied, reason), (line, count, help)) in lost {
            let reason = match count {
                1 => reason,
                count => format!("{reason} ({count} times)"),
            };
            set.leave_out(Remark {
                line,
                subject: format!("`{}`", quote(ied)),
                reason,
                help: help.to_owned(),
            });
        }
    }

    fn follow(
        &mut self,
        ied: &'d str,
        reference: Element<'d>,
        publishers: &Publishers<'d>,
        data: &PublishedData<'d>,
        line: u32,
    ) {
        let publisher = attribute(reference, "iedName");
        let service_type = attribute(reference, "serviceType");
        if publisher.is_empty() {
            let reason = "an ExtRef names no publisher".to_owned();
            self.lose(
                ied,
                reason,
                line,
                "bind it, if the IED is to receive something",
            );
            return;
        }
        if publisher == ied || publisher == "@" {
            return;
        }
        if !publishers.ieds.contains_key(publisher) {
            let reason = format!(
                "an ExtRef names IED `{}`, which is not there",
                quote(publisher)
            );
            self.lose(ied, reason, line, "correct its iedName, or import that IED");
            return;
        }
        if matches!(service_type, "Report" | "Poll") {
            let reason = format!("an ExtRef to `{}` by {service_type}", quote(publisher));
            self.lose(
                ied,
                reason,
                line,
                "it travels by TCP: ask for it as a flow of its own",
            );
            return;
        }
        let services: Vec<_> = [PublishingService::Goose, PublishingService::SampledValues]
            .into_iter()
            .filter(|service| ["", service.service_type()].contains(&service_type))
            .collect();
        match reference
            .attribute("srcCBName")
            .filter(|name| !name.is_empty())
        {
            Some(block) => self.follow_block(ied, reference, block, &services, publishers, line),
            None => self.follow_datum(ied, reference, &services, publishers, data, line),
        }
    }

    fn follow_block(
        &mut self,
        ied: &'d str,
        reference: Element<'d>,
        block: &'d str,
        services: &[PublishingService],
        publishers: &Publishers<'d>,
        line: u32,
    ) {
        let publisher = attribute(reference, "iedName");
        let device = match attribute(reference, "srcLDInst") {
            "" => attribute(reference, "ldInst"),
            device => device,
        };
        let key = |service| BlockKey {
            ied: publisher,
            device,
            service,
            block,
        };
        let found = services
            .iter()
            .find_map(|service| publishers.by_key.get(&key(*service)));
        match found {
            Some(block) => self.add(*block, ied),
            None => {
                let reference = format!("{}/{}/{}", publisher, device, block);
                let reason = format!(
                    "an ExtRef names control block `{}`, which is not there",
                    quote(&reference)
                );
                self.lose(ied, reason, line, "correct its srcLDInst and srcCBName");
            }
        }
    }

    fn follow_datum(
        &mut self,
        ied: &'d str,
        reference: Element<'d>,
        services: &[PublishingService],
        publishers: &Publishers<'d>,
        data: &PublishedData<'d>,
        line: u32,
    ) {
        let node = node_key(attribute(reference, "iedName"), reference);
        let (object, wanted) = (
            attribute(reference, "doName"),
            attribute(reference, "daName"),
        );
        let published = data.get(&(node, object)).map_or(&[][..], Vec::as_slice);
        let holds = |attribute: &str| {
            attribute.is_empty() || wanted.is_empty() || within(attribute, wanted)
        };
        let fitting = published.iter().filter(|(block, attribute)| {
            services.contains(&publishers.blocks[*block].key.service) && holds(attribute)
        });
        let blocks: BTreeSet<usize> = fitting.map(|(block, _)| *block).collect();
        for block in &blocks {
            self.add(*block, ied);
        }
        if blocks.is_empty() {
            let datum = format!("{}/{}{}.{object}", node.ied, node.class, node.instance);
            let reason = format!(
                "an ExtRef asks for `{}`, which nobody publishes",
                quote(&datum)
            );
            self.lose(
                ied,
                reason,
                line,
                "add srcCBName, or the datum to a data set",
            );
        }
    }

    /// Follows the supervision of subscriptions.
    fn supervised(
        &mut self,
        ied: &'d str,
        node: Element<'d>,
        publishers: &Publishers<'d>,
        lines: &Lines,
    ) {
        let (service, object) = match attribute(node, "lnClass") {
            "LGOS" => (PublishingService::Goose, "GoCBRef"),
            "LSVS" => (PublishingService::SampledValues, "SvCBRef"),
            _ => return,
        };
        let objects = children(node, "DOI").filter(|doi| attribute(*doi, "name") == object);
        let attributes = objects.flat_map(|doi| children(doi, "DAI"));
        let references = attributes.filter(|dai| attribute(*dai, "name") == "setSrcRef");
        for value in references.flat_map(|dai| children(dai, "Val")) {
            let text = text_of(value);
            if text.is_empty() {
                continue;
            }
            let key = (service, normal_reference(text, service));
            match publishers.by_reference.get(&key) {
                Some(block) => self.add(*block, ied),
                None => {
                    let line = lines.line_of(value.range().start);
                    let reason = format!("it supervises `{}`, which is not there", quote(text));
                    self.lose(
                        ied,
                        reason,
                        line,
                        "correct the reference: IEDDEVICE/LLN0.BLOCK",
                    );
                }
            }
        }
    }

    /// Follows what control blocks say of their receivers.
    fn listed(&mut self, publishers: &Publishers<'d>, lines: &Lines) {
        for (index, block) in publishers.blocks.iter().enumerate() {
            for element in children(block.element, "IEDName") {
                match publishers.ieds.get_key_value(text_of(element)) {
                    Some((ied, _)) if *ied == block.key.ied => {}
                    Some((ied, _)) => self.add(index, ied),
                    None => {
                        let line = lines.line_of(element.range().start);
                        let name = quote(text_of(element));
                        let reason = format!("it lists `{name}`, which is no IED here");
                        self.lose(block.key.ied, reason, line, "correct the IEDName");
                    }
                }
            }
        }
    }
}

/// Returns a reference as this edition writes it: `…/LLN0.BLOCK`, not
/// `…/LLN0$GO$BLOCK`.
fn normal_reference(text: &str, service: PublishingService) -> String {
    let constraint = format!("${}$", service.constraint());
    text.replace(&constraint, ".").replace('$', ".")
}

/// Returns whether one of two attributes is the other or a part of it.
fn within(one: &str, other: &str) -> bool {
    let part = |whole: &str, part: &str| {
        let rest = part.strip_prefix(whole);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    part(one, other) || part(other, one)
}

/// Returns the logical node that the attributes of an element name.
pub(super) fn node_key<'d>(ied: &'d str, element: Element<'d>) -> NodeKey<'d> {
    NodeKey {
        ied,
        device: attribute(element, "ldInst"),
        prefix: attribute(element, "prefix"),
        class: attribute(element, "lnClass"),
        instance: attribute(element, "lnInst"),
    }
}
