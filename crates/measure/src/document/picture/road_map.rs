//! A road with a wall at its end, seen from above, once for each of several drivers:
//! where each of their drives stopped.

use serde::Serialize;

use super::canvas;
use crate::document::markup::Element;
use crate::document::svg::{circle, label, line, tip};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 56.0;
const LANE: f64 = 46.0;
const BELOW: f64 = 40.0;
const DOT: f64 = 3.0;
/// The most marks of the scale, which has one every half metre.
const MOST_MARKS: u32 = 100;

/// A road with a wall at its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoadMap {
    /// The name of its file.
    pub name: String,
    pub title: String,
    /// From where on the road is drawn, in metres.
    pub from_m: f64,
    /// From where on the wall can be seen, in metres.
    pub seen_m: f64,
    /// Where the wall is, in metres.
    pub wall_m: f64,
    pub lanes: Vec<Lane>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    pub label: String,
    /// Where it began to brake on each drive, in metres.
    pub braked_m: Vec<f64>,
    /// Where it stopped, in metres; at the wall if it hit it.
    pub stopped_m: Vec<f64>,
}

impl RoadMap {
    pub(super) fn element(&self) -> Element {
        let lanes = self.lanes.len() as f64;
        let height = TOP + LANE * lanes + BELOW;
        let description = format!(
            "Where {} drivers stop before a wall that is {} m away.",
            self.lanes.len(),
            self.wall_m
        );
        let bottom = TOP + LANE * lanes;
        let upright = |metres: f64, class: &str| {
            line((self.x(metres), TOP - 6.0), (self.x(metres), bottom)).class(class)
        };
        let head = |metres: f64, text: &str| {
            label((self.x(metres), TOP - 12.0), text).class("axis middle")
        };
        let lanes = self.lanes.iter().enumerate();
        canvas((WIDTH, height), &self.title, &description)
            .child(label((16.0, 22.0), &self.title).class("name"))
            .children(self.scale(bottom))
            .child(upright(self.seen_m, "least"))
            .child(head(self.seen_m, "wall in sight"))
            .child(upright(self.wall_m, "guarantee"))
            .child(head(self.wall_m, "wall"))
            .children(lanes.flat_map(|(number, lane)| self.lane(number, lane)))
    }

    /// Marks and numbers, every half metre.
    fn scale(&self, bottom: f64) -> Vec<Element> {
        let halves = (0..MOST_MARKS).map(|half| self.wall_m - f64::from(half) / 2.0);
        let marks = halves.take_while(|metres| *metres >= self.from_m);
        let marks = marks.flat_map(|metres| {
            let x = self.x(metres);
            [
                line((x, TOP), (x, bottom)).class("grid"),
                label((x, bottom + 18.0), format!("{metres} m")).class("axis middle"),
            ]
        });
        marks.collect()
    }

    fn lane(&self, number: usize, lane: &Lane) -> Vec<Element> {
        let y = TOP + LANE * (number as f64 + 0.5);
        let mut shapes = vec![label((16.0, y + 4.0), &lane.label)];
        let drives = lane.braked_m.iter().zip(&lane.stopped_m);
        for (number, (braked, stopped)) in drives.enumerate() {
            // Drives beside each other, so that those that end alike can be told apart.
            let beside = (number % 10) as f64 - 4.5;
            let y = y + beside * 2.4;
            let words = format!("brakes at {braked:.2} m, stops at {stopped:.2} m");
            let way = line((self.x(*braked), y), (self.x(*stopped), y)).class("stripe");
            shapes.push(way);
            let dot = circle((self.x(*stopped), y), DOT).class("some");
            shapes.push(dot.child(tip(&words)));
        }
        shapes
    }

    fn x(&self, metres: f64) -> f64 {
        let share = (metres - self.from_m) / (self.wall_m - self.from_m);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }
}
