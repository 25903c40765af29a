//! The run in one or two sentences.

use super::text::milliseconds;
use super::{Completion, FlowReport, Outcome, Report, RunVerdict};

/// How many broken promises the summary names.
const MOST_NAMED: usize = 3;

impl Report {
    /// Returns the run in a few sentences: were the promises kept, how narrow
    /// was it, and what had to be set aside.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut sentences = Vec::new();
        if self.completion == Completion::Partial {
            let until = milliseconds(self.duration_ns);
            sentences.push(format!("The run was interrupted after {until}."));
        }
        sentences.push(self.outcome_sentence());
        sentences.extend(self.margin_sentence());
        sentences.extend(self.stall_sentence());
        sentences.join(" ")
    }

    fn outcome_sentence(&self) -> String {
        let promised = self.flows.iter().filter(|flow| flow.guarantee_ns.is_some());
        let promised = promised.count();
        match self.verdict() {
            RunVerdict::Held if promised == 0 => "Nothing was promised.".to_owned(),
            RunVerdict::Held => "Every promise held.".to_owned(),
            RunVerdict::Refused => "No flow was admitted.".to_owned(),
            RunVerdict::Broken => {
                let broken: Vec<_> = self
                    .flows
                    .iter()
                    .filter(|flow| flow.verdict == Outcome::Broken)
                    .collect();
                let mut named: Vec<_> = broken
                    .iter()
                    .take(MOST_NAMED)
                    .map(|flow| why(flow))
                    .collect();
                if broken.len() > MOST_NAMED {
                    named.push(format!("{} more", broken.len() - MOST_NAMED));
                }
                let (count, named) = (broken.len(), named.join(", "));
                let were = if count == 1 { "was" } else { "were" };
                format!("{count} of {promised} promises {were} broken: {named}.")
            }
        }
    }

    fn margin_sentence(&self) -> Option<String> {
        let flows = self.flows.iter();
        let smallest = flows
            .filter(|flow| flow.margin_ns().is_some())
            .min_by_key(|flow| flow.margin_ns())?;
        let margin = milliseconds(smallest.margin_ns()?);
        Some(format!(
            "Smallest margin {margin} ({}).",
            smallest.facts.name
        ))
    }

    fn stall_sentence(&self) -> Option<String> {
        let stalls = self.platform.stall_ns.filter(|stalls| stalls.count > 0)?;
        let aside: u64 = self
            .flows
            .iter()
            .map(|flow| flow.stalled.late + flow.stalled.lost)
            .sum();
        let times = match stalls.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let max = milliseconds(stalls.max);
        let frames = if aside == 1 { "frame" } else { "frames" };
        Some(format!(
            "The machine stalled {times}, {max} at most: {aside} {frames} set aside."
        ))
    }
}

fn why(flow: &FlowReport) -> String {
    format!("{} ({})", flow.facts.name, flow.breaches.join(", "))
}
