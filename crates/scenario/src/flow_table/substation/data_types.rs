//! How large the members of a data set are, by `DataTypeTemplates`.
//!
//! | basic type | in GOOSE (BER) | in Sampled Values |
//! | --- | --- | --- |
//! | BOOLEAN, INT8 | 3 | 1 |
//! | INT16, INT24, INT32, INT64 | 4, 5, 6, 10 | 2, 4, 4, 8 |
//! | INT8U, INT16U, INT24U, INT32U, INT64U | 4, 5, 6, 7, 11 | 1, 2, 4, 4, 8 |
//! | FLOAT32, FLOAT64 | 7, 11 | 4, 8 |
//! | Enum | 6 | 4 |
//! | Dbpos, Tcmd, Check | 4 | 4 |
//! | Quality | 5 | 4 |
//! | Timestamp, `EntryTime` | 10, 8 | 8 |
//! | texts and octets of `n` | `n` and 2 to 4 | `n` |
//!
//! In BER a value is preceded by its tag and its length, and an integer without
//! sign may take a byte more than its width. Texts count with their longest.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::publishers::Publishers;
use super::subscribers::node_key;
use super::{Element, attribute, children};
use crate::mistake::quote;

/// The deepest nesting of types.
const DEEPEST_TYPE: u32 = 16;
/// The most elements that are looked at to size all data sets of a file.
const MOST_STEPS: u64 = 200_000_000;

/// In which form data travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataEncoding {
    /// Tag, length, value, as in GOOSE.
    Ber,
    /// One after the other, as in Sampled Values.
    Plain,
}

pub(super) struct DataTypes<'d> {
    by_id: BTreeMap<(&'static str, &'d str), Element<'d>>,
    /// The types of logical nodes by their class.
    by_class: BTreeMap<&'d str, Vec<Element<'d>>>,
    steps: Cell<u64>,
}

/// The size of a member of a data set.
pub(super) struct MemberSize {
    pub(super) bytes: u64,
    /// Why its type was guessed by its class, if it was.
    pub(super) like: Option<String>,
}

/// Sizes in bytes, or why they are not known.
type Size = Result<u64, String>;

impl<'d> DataTypes<'d> {
    pub(super) fn read(root: Element<'d>) -> Self {
        let mut by_id = BTreeMap::new();
        let mut by_class: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for templates in children(root, "DataTypeTemplates") {
            for kind in ["LNodeType", "DOType", "DAType"] {
                for element in children(templates, kind) {
                    by_id.insert((kind, attribute(element, "id")), element);
                    if kind == "LNodeType" {
                        let class = attribute(element, "lnClass");
                        by_class.entry(class).or_default().push(element);
                    }
                }
            }
        }
        let steps = Cell::new(MOST_STEPS);
        Self {
            by_id,
            by_class,
            steps,
        }
    }

    /// Returns how many bytes a member of a data set of an IED takes. Where its
    /// logical node is not there, the largest of all types of the class counts.
    ///
    /// # Errors
    ///
    /// What the file does not say.
    pub(super) fn size_of(
        &self,
        ied: &'d str,
        member: Element<'d>,
        publishers: &Publishers<'d>,
        form: DataEncoding,
    ) -> Result<MemberSize, String> {
        let node = node_key(ied, member);
        if let Some(node_type) = publishers.node_types.get(&node) {
            let found = self.by_id("LNodeType", node_type)?;
            let bytes = self.member(found, member, form)?;
            return Ok(MemberSize { bytes, like: None });
        }
        let name = format!("{}{}{}", node.prefix, node.class, node.instance);
        let missing = format!(
            "there is no logical node `{}` in `{}`",
            quote(&name),
            quote(node.device)
        );
        let types = self.by_class.get(node.class).map_or(&[][..], Vec::as_slice);
        let sizes = types
            .iter()
            .filter_map(|found| self.member(*found, member, form).ok());
        match sizes.max() {
            Some(bytes) => Ok(MemberSize {
                bytes,
                like: Some(missing),
            }),
            None => Err(missing),
        }
    }

    /// Returns the size of a member in a logical node of a type.
    fn member(&self, node_type: Element<'d>, member: Element<'d>, form: DataEncoding) -> Size {
        let mut found = node_type;
        for (depth, part) in attribute(member, "doName").split('.').enumerate() {
            let element = if depth == 0 { "DO" } else { "SDO" };
            let object = self.named(found, element, part)?;
            found = self.by_id("DOType", attribute(object, "type"))?;
        }
        match attribute(member, "daName") {
            "" => self.object(found, attribute(member, "fc"), form, 0),
            name => self.attribute_of(found, name, form),
        }
    }

    /// Returns the size of an attribute of a data object, such as `instMag.i`.
    fn attribute_of(&self, object: Element<'d>, name: &str, form: DataEncoding) -> Size {
        let mut holder = object;
        let mut parts = name.split('.').enumerate().peekable();
        while let Some((depth, part)) = parts.next() {
            let element = if depth == 0 { "DA" } else { "BDA" };
            let found = self.named(holder, element, part)?;
            if parts.peek().is_none() {
                return self.value(found, form, 0);
            }
            holder = self.by_id("DAType", attribute(found, "type"))?;
        }
        Err("a member without a name".to_owned())
    }

    /// Returns the size of all that a data object has under a constraint.
    fn object(
        &self,
        object: Element<'d>,
        constraint: &str,
        form: DataEncoding,
        depth: u32,
    ) -> Size {
        self.go_deeper(depth)?;
        let mut total = 0;
        for part in object.children().filter(Element::is_element) {
            self.step()?;
            let size = match part.tag_name().name() {
                "DA" if attribute(part, "fc") == constraint => self.value(part, form, depth + 1)?,
                "SDO" => {
                    let inner = self.by_id("DOType", attribute(part, "type"))?;
                    let one = self.object(inner, constraint, form, depth + 1)?;
                    times(one, part, form)?
                }
                _ => 0,
            };
            total = add(total, size)?;
        }
        Ok(if total == 0 { 0 } else { framed(total, form) })
    }

    /// Returns the size of the value of a `DA` or `BDA`.
    fn value(&self, element: Element<'d>, form: DataEncoding, depth: u32) -> Size {
        self.go_deeper(depth)?;
        let one = match attribute(element, "bType") {
            "Struct" => {
                let mut total = 0;
                let structure = self.by_id("DAType", attribute(element, "type"))?;
                for part in children(structure, "BDA") {
                    self.step()?;
                    total = add(total, self.value(part, form, depth + 1)?)?;
                }
                framed(total, form)
            }
            basic => basic_size(basic, form)
                .ok_or_else(|| format!("the size of type `{}` is not known", quote(basic)))?,
        };
        times(one, element, form)
    }

    fn by_id(&self, kind: &'static str, id: &str) -> Result<Element<'d>, String> {
        let found = self.by_id.get(&(kind, id)).copied();
        found.ok_or_else(|| format!("there is no {kind} `{}`", quote(id)))
    }

    fn named(&self, holder: Element<'d>, kind: &str, name: &str) -> Result<Element<'d>, String> {
        for child in holder.children() {
            self.step()?;
            if child.tag_name().name() == kind && attribute(child, "name") == name {
                return Ok(child);
            }
        }
        let holder = attribute(holder, "id");
        Err(format!(
            "`{}` has no {kind} `{}`",
            quote(holder),
            quote(name)
        ))
    }

    fn go_deeper(&self, depth: u32) -> Result<(), String> {
        match depth < DEEPEST_TYPE {
            true => Ok(()),
            false => Err(format!("types are nested deeper than {DEEPEST_TYPE}")),
        }
    }

    fn step(&self) -> Result<(), String> {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.unwrap_or(0));
        let too_large = || "the types are too many to go through".to_owned();
        left.map(drop).ok_or_else(too_large)
    }
}

/// Returns the size of an array of elements of `one`, or of one if it is none.
fn times(one: u64, element: Element<'_>, form: DataEncoding) -> Size {
    let count = attribute(element, "count");
    match (count, count.parse::<u64>()) {
        ("" | "0", _) => Ok(one),
        (_, Ok(count)) => {
            let all = one.checked_mul(count).ok_or_else(too_large)?;
            add(framed(all, form), 0)
        }
        (_, Err(_)) => Err(format!(
            "an array is `{}` long, which is no number",
            quote(count)
        )),
    }
}

fn add(one: u64, other: u64) -> Size {
    let sum = one
        .checked_add(other)
        .filter(|sum| *sum < u64::from(u32::MAX));
    sum.ok_or_else(too_large)
}

fn too_large() -> String {
    "its members have no end".to_owned()
}

/// Returns the size of a structure or an array of `inner` bytes.
fn framed(inner: u64, form: DataEncoding) -> u64 {
    match form {
        DataEncoding::Ber => tagged(inner),
        DataEncoding::Plain => inner,
    }
}

/// Returns how many bytes a value of `inner` bytes takes with its tag and length.
pub(super) fn tagged(inner: u64) -> u64 {
    let length = match inner {
        0..0x80 => 1,
        0x80..0x100 => 2,
        0x100..0x1_0000 => 3,
        _ => 5,
    };
    inner.saturating_add(1 + length)
}

fn basic_size(basic: &str, form: DataEncoding) -> Option<u64> {
    // What BER takes for the value itself, and what the plain form takes.
    let (ber, plain) = match basic {
        "BOOLEAN" | "INT8" => (1, 1),
        "INT16" => (2, 2),
        "INT24" => (3, 4),
        "INT32" | "Enum" => (4, 4),
        "INT64" | "Timestamp" => (8, 8),
        "INT128" => (16, 16),
        "INT8U" => (2, 1),
        "INT16U" => (3, 2),
        "INT24U" => (4, 4),
        "INT32U" | "FLOAT32" => (5, 4),
        "INT64U" | "FLOAT64" => (9, 8),
        // The number of unused bits, and the bits.
        "Dbpos" | "Tcmd" | "Check" | "TrgOps" | "LogOptFlds" => (2, 4),
        "Quality" | "OptFlds" | "SvOptFlds" => (3, 4),
        "EntryTime" => (6, 8),
        "EntryID" => (8, 8),
        "Currency" => (3, 3),
        "Octet6" => (6, 6),
        "Octet16" => (16, 16),
        "Octet64" | "VisString64" => (64, 64),
        "VisString32" => (32, 35),
        "VisString65" => (65, 65),
        "ObjRef" | "VisString129" => (129, 129),
        "VisString255" => (255, 255),
        // Characters beyond ASCII take up to four bytes.
        "Unicode255" => (1020, 1020),
        // A MAC address, a priority, a VLAN and an APPID, each with its tag.
        "PhyComAddr" => (22, 12),
        _ => return None,
    };
    Some(match form {
        DataEncoding::Ber => tagged(ber),
        DataEncoding::Plain => plain,
    })
}
