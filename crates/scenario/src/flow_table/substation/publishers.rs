//! The control blocks of the IEDs, and what they publish.

use std::collections::BTreeMap;

use super::{Element, attribute, child, children};

/// The two services that publish to groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PublishingService {
    Goose,
    SampledValues,
}

impl PublishingService {
    /// Returns the name of the element that describes its control blocks.
    pub(super) fn control_element(self) -> &'static str {
        match self {
            Self::Goose => "GSEControl",
            Self::SampledValues => "SampledValueControl",
        }
    }

    /// Returns the name of the element that gives a control block its address.
    pub(super) fn address_element(self) -> &'static str {
        match self {
            Self::Goose => "GSE",
            Self::SampledValues => "SMV",
        }
    }

    /// Returns the functional constraint in the names of its control blocks.
    pub(super) fn constraint(self) -> &'static str {
        match self {
            Self::Goose => "GO",
            Self::SampledValues => "MS",
        }
    }

    /// Returns how references call it.
    pub(super) fn service_type(self) -> &'static str {
        match self {
            Self::Goose => "GOOSE",
            Self::SampledValues => "SMV",
        }
    }
}

/// By what an address names a control block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockKey<'d> {
    pub(super) ied: &'d str,
    /// The instance of the logical device.
    pub(super) device: &'d str,
    pub(super) service: PublishingService,
    pub(super) block: &'d str,
}

#[derive(Clone)]
pub(super) struct ControlBlock<'d> {
    pub(super) key: BlockKey<'d>,
    pub(super) element: Element<'d>,
    /// The name of its logical device in references.
    pub(super) device_name: String,
    /// The data set that it names, if it is there.
    pub(super) data_set: Option<Element<'d>>,
}

impl ControlBlock<'_> {
    /// Returns its reference, as others name it.
    pub(super) fn reference(&self) -> String {
        format!("{}/LLN0.{}", self.device_name, self.key.block)
    }
}

/// A logical node, by what data sets name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeKey<'d> {
    pub(super) ied: &'d str,
    pub(super) device: &'d str,
    pub(super) prefix: &'d str,
    pub(super) class: &'d str,
    pub(super) instance: &'d str,
}

#[derive(Default)]
pub(super) struct Publishers<'d> {
    pub(super) blocks: Vec<ControlBlock<'d>>,
    /// The blocks by what addresses name, as places in `blocks`.
    pub(super) by_key: BTreeMap<BlockKey<'d>, usize>,
    /// The blocks by their reference.
    pub(super) by_reference: BTreeMap<(PublishingService, String), usize>,
    /// The types of logical nodes.
    pub(super) node_types: BTreeMap<NodeKey<'d>, &'d str>,
    /// The IEDs by their names.
    pub(super) ieds: BTreeMap<&'d str, Element<'d>>,
    /// IEDs and control blocks whose name another has.
    pub(super) repeated: Vec<Element<'d>>,
}

impl<'d> Publishers<'d> {
    pub(super) fn read(root: Element<'d>) -> Self {
        let mut all = Self::default();
        for ied in children(root, "IED") {
            let name = attribute(ied, "name");
            if all.ieds.contains_key(name) {
                all.repeated.push(ied);
                continue;
            }
            all.ieds.insert(name, ied);
            for device in logical_devices(ied) {
                all.read_device(name, device);
            }
        }
        all
    }

    fn read_device(&mut self, ied: &'d str, device: Element<'d>) {
        let instance = attribute(device, "inst");
        let device_name = match attribute(device, "ldName") {
            "" => format!("{ied}{instance}"),
            name => name.to_owned(),
        };
        for node in logical_nodes(device) {
            let key = NodeKey {
                ied,
                device: instance,
                prefix: attribute(node, "prefix"),
                class: attribute(node, "lnClass"),
                instance: attribute(node, "inst"),
            };
            self.node_types.insert(key, attribute(node, "lnType"));
        }
        for node_zero in children(device, "LN0") {
            let sets = children(node_zero, "DataSet").map(|set| (attribute(set, "name"), set));
            let sets: BTreeMap<_, _> = sets.collect();
            for service in [PublishingService::Goose, PublishingService::SampledValues] {
                for element in children(node_zero, service.control_element()) {
                    let block = attribute(element, "name");
                    self.add(ControlBlock {
                        key: BlockKey {
                            ied,
                            device: instance,
                            service,
                            block,
                        },
                        element,
                        device_name: device_name.clone(),
                        data_set: sets.get(attribute(element, "datSet")).copied(),
                    });
                }
            }
        }
    }

    fn add(&mut self, block: ControlBlock<'d>) {
        if self.by_key.contains_key(&block.key) {
            self.repeated.push(block.element);
            return;
        }
        let index = self.blocks.len();
        self.by_key.insert(block.key, index);
        let reference = (block.key.service, block.reference());
        self.by_reference.insert(reference, index);
        self.blocks.push(block);
    }
}

/// Returns the logical devices of all servers of an IED.
pub(super) fn logical_devices<'d>(ied: Element<'d>) -> impl Iterator<Item = Element<'d>> {
    children(ied, "AccessPoint")
        .filter_map(|access_point| child(access_point, "Server"))
        .flat_map(|server| children(server, "LDevice"))
}

/// Returns the logical nodes of a logical device, the one without a class of its
/// own included.
pub(super) fn logical_nodes<'d>(device: Element<'d>) -> impl Iterator<Item = Element<'d>> {
    let is_node = |name: &str| name == "LN0" || name == "LN";
    let children = device.children();
    children.filter(move |child| child.is_element() && is_node(child.tag_name().name()))
}
