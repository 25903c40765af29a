//! Questions for paths, and answers.

use api::{Endpoint, FoundPath, PathWish, Place};
use controller::northbound::{MAX_PATHS, PathLoad, PathQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Delay;

use super::Unusable;
use super::place;
use super::requirement::{TrafficDocument, USUAL_CLASS, deadline, within};
use crate::web::describe::Names;

/// The most links that a question avoids.
const MOST_AVOIDED: usize = 4_096;

/// Where frames enter or leave the network, as a document says it.
pub type EndpointDocument = Endpoint<Place<String>>;

/// A question for paths from one place to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathQueryDocument {
    /// Where they begin.
    pub from: EndpointDocument,
    /// Where they end.
    pub to: EndpointDocument,
    /// How they relate to each other.
    #[serde(default)]
    pub wish: PathWish,
    /// How many; 1 if left out.
    #[serde(default)]
    pub count: Option<usize>,
    /// The ids of links that they avoid.
    #[serde(default)]
    pub avoid: Vec<String>,
    /// What there must be room for on each of them, if anything.
    #[serde(default)]
    pub load: Option<LoadDocument>,
}

/// What there must be room for on a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadDocument {
    /// The queue in which it would travel, 1 to 7; 6 if left out, as for a flow
    /// with a deadline.
    #[serde(default)]
    pub class: Option<u8>,
    /// How late a frame may be.
    pub deadline_ns: u64,
    /// The rate that it never exceeds for long.
    pub rate_bps: u64,
    /// The amount by which it may exceed the rate at any time; one frame of the
    /// largest size if left out.
    #[serde(default)]
    pub burst_bytes: Option<u64>,
    /// Its largest frame; 1542 if left out.
    #[serde(default)]
    pub largest_frame_bytes: Option<u64>,
    /// Its smallest frame; 84 if left out.
    #[serde(default)]
    pub smallest_frame_bytes: Option<u64>,
}

/// Paths that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathsDocument {
    /// The best first.
    pub paths: Vec<FoundPath>,
}

impl PathQueryDocument {
    /// Returns the question, with switches called as `names` knows them.
    ///
    /// # Errors
    ///
    /// If a value cannot be used.
    pub fn query(&self, names: &Names) -> Result<PathQuery, Unusable> {
        let count = self.count.unwrap_or(1);
        within("count", count as u64, 1, MAX_PATHS as u64)?;
        within("avoid", self.avoid.len() as u64, 0, MOST_AVOIDED as u64)?;
        let avoid = self.avoid.iter().map(|id| place::link("avoid", id));
        Ok(PathQuery {
            from: place::endpoint("from", &self.from, names)?,
            to: place::endpoint("to", &self.to, names)?,
            wish: self.wish,
            count,
            avoid: avoid.collect::<Result<_, _>>()?,
            load: self.load.as_ref().map(LoadDocument::load).transpose()?,
        })
    }
}

impl LoadDocument {
    fn load(&self) -> Result<PathLoad, Unusable> {
        let class = self.class.unwrap_or(USUAL_CLASS);
        within("load.class", u64::from(class), 1, 7)?;
        let deadline: Delay = deadline(self.deadline_ns)?;
        let traffic = TrafficDocument {
            rate_bps: self.rate_bps,
            burst_bytes: self.burst_bytes,
            largest_frame_bytes: self.largest_frame_bytes,
            smallest_frame_bytes: self.smallest_frame_bytes,
        };
        Ok(PathLoad {
            class,
            traffic: traffic.traffic()?,
            deadline,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_travels_in_the_queue_of_a_flow_with_a_deadline_unless_it_says_otherwise() {
        let document = serde_json::json!({"deadline_ns": 1_000_000, "rate_bps": 1_000_000});
        let load: LoadDocument = serde_json::from_value(document).unwrap();

        assert_eq!(load.load().unwrap().class, USUAL_CLASS);
    }
}
