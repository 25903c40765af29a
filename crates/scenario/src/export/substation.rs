//! Writes the settings of flows back into the substation description that they came from
//! (IEC 61850-6).
//!
//! Of each control block that is a flow of the network, the `Address` gets the group, the
//! APPID, the VLAN and the priority with which its frames travel, and what was promised
//! stands before it in a `Private` element of ours. Everything else stays as it is, byte
//! for byte: what changes is spliced into the text. Writing twice changes nothing more.
//!
//! What the network does not say is kept. A group or an APPID that two flows of the file
//! share, or that is missing, is replaced by the first that is free in the range that
//! IEC 61850-8-1 and 9-2 recommend; the first flow of the file keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use roxmltree::Node;
use units::Delay;

use super::{ConfiguredFlow, ConfiguredNetwork, mac};
use crate::ScenarioError;
use crate::flow_table::{
    self, FlowSet, Matching, Options, SAMPLED_VALUES, attribute_of as attribute, parse_description,
};

/// The type of our `Private` elements.
const PRIVATE: &str = "taktos:promise";
/// The name space of what is in them.
const NAMESPACE: &str = "urn:taktos:promise:1";
/// How many group addresses are recommended for each service.
const GROUPS: u16 = 0x200;

/// What a network says of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSettings {
    /// The group that its frames go to; chosen if absent.
    pub group: Option<[u8; 6]>,
    /// Its VLAN; kept if absent, and none where the file has none.
    pub vlan: Option<u16>,
    /// The priority of its frames, 0 to 7.
    pub priority: u8,
    pub deadline: Option<Delay>,
    pub guarantee: Option<Delay>,
    /// The switches of its way.
    pub way: String,
}

impl FlowSettings {
    /// Returns what follows from a flow of a network; its group and its VLAN are the file's.
    #[must_use]
    pub fn of(flow: &ConfiguredFlow, network: &ConfiguredNetwork) -> Self {
        Self {
            group: None,
            vlan: None,
            priority: flow.queue,
            deadline: flow.deadline,
            guarantee: flow.guarantee,
            way: network.way_of(flow),
        }
    }
}

/// A description with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenDescription {
    pub text: String,
    /// By the flows whose settings are in it, how their frames are recognised from then on.
    pub set: BTreeMap<String, Matching>,
    /// The flows of the file that the network does not have.
    pub unknown: Vec<String>,
}

/// What stands in the `Address` of a control block.
struct AddressValues {
    group: [u8; 6],
    application: u16,
    vlan: u16,
    priority: u8,
}

/// A part of the text, and what stands there instead.
type Edit = (Range<usize>, String);

/// Writes what `settings` say of the flows of the description `text`, by the names that
/// [`flow_table::read`] gives them.
///
/// # Errors
///
/// The mistakes of a file of which nothing can be used.
pub fn write(
    name: &str,
    text: &str,
    options: &Options,
    settings: &BTreeMap<String, FlowSettings>,
) -> Result<WrittenDescription, ScenarioError> {
    let set = flow_table::read(name, text, options)?;
    let document = parse_description(text).expect("it was read above");
    let elements = document.descendants().filter(Node::is_element);
    let elements: BTreeMap<_, _> = elements.map(|it| (it.range().start, it)).collect();
    let blocks = set.flows.iter().map(|flow| elements[&flow.address]);
    let blocks: Vec<Node<'_, '_>> = blocks.collect();
    let values = values(&set, &blocks, settings);
    let mut edits = Vec::new();
    for ((flow, block), values) in set.flows.iter().zip(&blocks).zip(&values) {
        if let Some((values, settings)) = values.as_ref().zip(settings.get(&flow.name)) {
            edit_block(text, *block, values, settings, &mut edits);
        }
    }
    let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
    for (flow, values) in set.flows.iter().zip(&values) {
        match values {
            None => unknown.push(flow.name.clone()),
            Some(values) => {
                let matching = Matching {
                    destination: Some(values.group),
                    vlan: Some(values.vlan).filter(|vlan| *vlan > 0),
                    ..flow.matching
                };
                known.insert(flow.name.clone(), matching);
            }
        }
    }
    Ok(WrittenDescription {
        text: spliced(text, edits),
        set: known,
        unknown,
    })
}

/// Returns what the addresses hold, in the order of the flows; nothing for those that
/// the network does not have.
fn values(
    set: &FlowSet,
    blocks: &[Node<'_, '_>],
    settings: &BTreeMap<String, FlowSettings>,
) -> Vec<Option<AddressValues>> {
    let rows = set.flows.iter().zip(blocks);
    let stated = rows.map(|(flow, block)| StatedAddress {
        group: flow.matching.destination.unwrap_or_default(),
        vlan: flow.matching.vlan.unwrap_or(0),
        application: stated_application(*block),
    });
    let stated: Vec<_> = stated.collect();
    let of_network = set.flows.iter();
    let of_network = of_network.filter_map(|flow| settings.get(&flow.name)?.group);
    let in_file = stated.iter().map(|it| it.group);
    let mut groups: BTreeSet<_> = of_network.chain(in_file).collect();
    let mut applications: BTreeSet<_> = stated.iter().filter_map(|it| it.application).collect();
    let (mut used_groups, mut used_applications) = (BTreeSet::new(), BTreeSet::new());
    let rows = set.flows.iter().zip(&stated);
    rows.map(|(flow, stated)| {
        let is_samples = flow.matching.ether_type == Some(SAMPLED_VALUES);
        let said = settings.get(&flow.name)?;
        let vlan = said.vlan.unwrap_or(stated.vlan);
        let own = said.group.unwrap_or(stated.group);
        let is_new = used_groups.insert((own, vlan));
        let group = match said.group.is_some() || is_new {
            true => own,
            false => free_group(is_samples, &mut groups).unwrap_or(own),
        };
        let own = stated.application;
        let own = own.filter(|it| used_applications.insert((is_samples, *it)));
        let free = || free_application(is_samples, &mut applications);
        Some(AddressValues {
            group,
            application: own.or_else(free).or(stated.application).unwrap_or(0),
            vlan,
            priority: said.priority,
        })
    })
    .collect()
}

/// What a file states of an address.
struct StatedAddress {
    group: [u8; 6],
    vlan: u16,
    application: Option<u16>,
}

fn stated_application(block: Node<'_, '_>) -> Option<u16> {
    let parameter = parameter(child(block, "Address")?, "APPID")?;
    u16::from_str_radix(parameter.text()?.trim(), 16).ok()
}

/// Returns the first group of the recommended range that nobody has.
fn free_group(is_samples: bool, taken: &mut BTreeSet<[u8; 6]>) -> Option<[u8; 6]> {
    let service = if is_samples { 4 } else { 1 };
    let group = |at: u16| {
        let [high, low] = at.to_be_bytes();
        [0x01, 0x0C, 0xCD, service, high, low]
    };
    (0..GROUPS).map(group).find(|group| taken.insert(*group))
}

/// Returns the first APPID of the range of its service that nobody has; 0 and 4000 are
/// the defaults of IEC 61850-8-1 and 9-2, which say that nothing was configured.
fn free_application(is_samples: bool, taken: &mut BTreeSet<u16>) -> Option<u16> {
    let mut range = match is_samples {
        true => 0x4001..0x8000,
        false => 0x0001..0x4000,
    };
    range.find(|it| taken.insert(*it))
}

fn edit_block(
    text: &str,
    block: Node<'_, '_>,
    values: &AddressValues,
    settings: &FlowSettings,
    edits: &mut Vec<Edit>,
) {
    let Some(address) = child(block, "Address") else {
        return;
    };
    let wanted = [
        ("MAC-Address", mac(values.group)),
        ("APPID", format!("{:04X}", values.application)),
        ("VLAN-PRIORITY", values.priority.to_string()),
        ("VLAN-ID", format!("{:03X}", values.vlan)),
    ];
    let mut missing = String::new();
    let last = children(address, "P").last();
    for (name, value) in wanted {
        match parameter(address, name) {
            Some(found) if says_the_same(found, name, &value) => {}
            Some(found) => edits.push(content(text, found, &value)),
            None => {
                let tag = last.map_or("P", |it| tag(text, it));
                let space = last.map_or("", |it| space_before(text, it));
                missing += &format!("{space}<{tag} type=\"{name}\">{value}</{tag}>");
            }
        }
    }
    if let (Some(last), false) = (last, missing.is_empty()) {
        let end = last.range().end;
        edits.push((end..end, missing));
    }
    edits.push(promise(text, block, address, settings));
}

/// Tells whether a parameter has a value already, however it is written.
fn says_the_same(parameter: Node<'_, '_>, name: &str, value: &str) -> bool {
    let text = parameter.text().unwrap_or_default().trim();
    match name {
        "APPID" | "VLAN-ID" => {
            let number = |text| u16::from_str_radix(text, 16).ok();
            number(text) == number(value)
        }
        _ => text.replace(':', "-").eq_ignore_ascii_case(value),
    }
}

/// Returns the edit that gives an element another text.
fn content(text: &str, element: Node<'_, '_>, value: &str) -> Edit {
    let range = element.range();
    if let (Some(first), Some(last)) = (element.first_child(), element.last_child()) {
        return (first.range().start..last.range().end, value.to_owned());
    }
    let whole = &text[range.clone()];
    match whole.strip_suffix("/>") {
        Some(open) => {
            let end = format!(">{value}</{}>", tag(text, element));
            (range.start + open.len()..range.end, end)
        }
        None => {
            let inside = range.start + whole.rfind("</").unwrap_or(whole.len());
            (inside..inside, value.to_owned())
        }
    }
}

/// Returns the edit that says before an address what was promised.
fn promise(
    text: &str,
    block: Node<'_, '_>,
    address: Node<'_, '_>,
    settings: &FlowSettings,
) -> Edit {
    let tag = tag(text, address).replace("Address", "Private");
    let ns = |name: &str, delay: Option<Delay>| match delay {
        Some(delay) => format!(" {name}=\"{}\"", delay.round_up().as_ns()),
        None => String::new(),
    };
    let element = format!(
        "<{tag} type=\"{PRIVATE}\"><t:promise xmlns:t=\"{NAMESPACE}\" queue=\"{}\"{}{} \
         way=\"{}\"/></{tag}>",
        settings.priority,
        ns("bound_ns", settings.guarantee),
        ns("deadline_ns", settings.deadline),
        escaped(&settings.way)
    );
    let ours = children(block, "Private").find(|it| attribute(*it, "type") == PRIVATE);
    match ours {
        Some(ours) => (ours.range(), element),
        None => {
            let at = address.range().start;
            (at..at, format!("{element}{}", space_before(text, address)))
        }
    }
}

/// Returns the name of an element as it is written, with its prefix.
fn tag<'t>(text: &'t str, element: Node<'_, '_>) -> &'t str {
    let inside = &text[element.range()][1..];
    let end = inside.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
    &inside[..end.unwrap_or(inside.len())]
}

/// Returns the white space before an element.
fn space_before<'t>(text: &'t str, element: Node<'_, '_>) -> &'t str {
    let before = &text[..element.range().start];
    &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..]
}

fn escaped(text: &str) -> String {
    let escape = |c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

fn spliced(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut whole, mut at) = (String::with_capacity(text.len()), 0);
    for (range, instead) in edits {
        whole += &text[at..range.start];
        whole += &instead;
        at = range.end;
    }
    whole + &text[at..]
}

fn children<'d>(element: Node<'d, 'd>, name: &'static str) -> impl Iterator<Item = Node<'d, 'd>> {
    let children = element.children();
    children.filter(move |it| it.is_element() && it.tag_name().name() == name)
}

fn child<'d>(element: Node<'d, 'd>, name: &'static str) -> Option<Node<'d, 'd>> {
    children(element, name).next()
}

fn parameter<'d>(address: Node<'d, 'd>, name: &str) -> Option<Node<'d, 'd>> {
    children(address, "P").find(|it| attribute(*it, "type") == name)
}
