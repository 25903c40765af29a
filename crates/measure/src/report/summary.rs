//! The run in one or two sentences.

use super::text::{factor, milliseconds};
use super::{Completion, FlowReport, Report, RunVerdict, Verdict};

/// How many broken promises, and changes by hand, the summary names.
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
        sentences.extend(self.by_hand_sentence());
        sentences.extend(self.exceeded_sentence());
        sentences.extend(self.not_judged_sentence());
        sentences.extend(self.safety_sentence());
        sentences.extend(self.interruption_sentence());
        sentences.join(" ")
    }

    fn outcome_sentence(&self) -> String {
        let promised = self.flows.iter().filter(|flow| flow.guarantee_ns.is_some());
        let promised = promised.count();
        match self.verdict() {
            RunVerdict::Held if promised == 0 => "Nothing was promised.".to_owned(),
            RunVerdict::Held | RunVerdict::Exceeded => match self.with(Verdict::NotJudged) {
                0 => "Every promise held.".to_owned(),
                _ => "Every promise that could be judged held.".to_owned(),
            },
            RunVerdict::NotJudged => "Nothing can be said of most promises.".to_owned(),
            RunVerdict::Refused => "No flow was admitted.".to_owned(),
            RunVerdict::Broken => {
                let broken: Vec<_> = self
                    .flows
                    .iter()
                    .filter(|flow| flow.verdict == Verdict::Broken)
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

    /// Says that more happened than the scenario has.
    fn by_hand_sentence(&self) -> Option<String> {
        let done = self.by_hand.as_slice();
        let times = match done.len() {
            0 => return None,
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let mut named: Vec<_> = done.iter().take(MOST_NAMED).cloned().collect();
        if done.len() > MOST_NAMED {
            named.push(format!("{} more", done.len() - MOST_NAMED));
        }
        Some(format!(
            "Touched by hand {times}, so that another run may end otherwise: {}.",
            named.join(", ")
        ))
    }

    fn with(&self, outcome: Verdict) -> usize {
        let flows = self.flows.iter();
        flows.filter(|flow| flow.verdict == outcome).count()
    }

    /// Says which bounds did not hold, and what to do about it.
    fn exceeded_sentence(&self) -> Option<String> {
        let flows = self.flows.iter();
        let farthest = flows
            .filter_map(|flow| Some((flow, flow.exceeded?)))
            .max_by_key(|(_, exceeded)| exceeded.by_ns)?;
        let count = self.flows.iter().filter(|it| it.exceeded.is_some()).count();
        let (flow, exceeded) = farthest;
        let (were, by) = (
            if count == 1 { "flow was" } else { "flows were" },
            milliseconds(exceeded.by_ns),
        );
        let worth = self.profiles.iter().find_map(|it| it.statistical.as_ref());
        let then = match worth {
            Some(worth) => format!(
                "The bounds are {}, which may happen to one frame in {}; if it happens in every \
                 run, have the profile of this machine measured again: delete the kept one",
                worth.label(),
                worth.one_in
            ),
            None => "The switches of this run are not what their profile says; `--profile \
                     measured` calculates with what they do on this machine"
                .to_owned(),
        };
        Some(format!(
            "Warning: {count} {were} later than calculated, {} by {by} ({} of {} frames). {then}.",
            flow.facts.name, exceeded.count, flow.sent
        ))
    }

    /// Says how much is unknown.
    fn not_judged_sentence(&self) -> Option<String> {
        let promised = || self.flows.iter().filter(|flow| flow.guarantee_ns.is_some());
        let skipped: u64 = promised().map(|flow| flow.skipped).sum();
        let unseen: u64 = promised().map(|flow| flow.unseen).sum();
        let flows = match self.with(Verdict::NotJudged) {
            0 if unseen == 0 => return None,
            0 => String::new(),
            count => format!(
                "{count} of {} promises are not judged: ",
                promised().count()
            ),
        };
        Some(format!(
            "{flows}{skipped} frames were not sent, and {unseen} losses may be frames that this \
             program did not see."
        ))
    }

    fn safety_sentence(&self) -> Option<String> {
        let flows = self.flows.iter();
        let smallest = flows
            .filter(|flow| flow.verdict.is_held())
            .filter_map(|flow| Some((flow.safety_hundredths()?, flow)))
            .min_by_key(|(safety, _)| *safety)?;
        let (safety, flow) = smallest;
        let safety = factor(safety);
        Some(format!(
            "Smallest safety factor {safety} ({}).",
            flow.facts.name
        ))
    }

    fn interruption_sentence(&self) -> Option<String> {
        let taken = self.platform.interruption_ns.filter(|it| it.count > 0)?;
        let apart: u64 = self
            .flows
            .iter()
            .map(|flow| flow.stalled.late + flow.stalled.lost)
            .sum();
        let times = match taken.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let max = milliseconds(taken.max);
        let frames = if apart == 1 { "frame" } else { "frames" };
        Some(format!(
            "The machine took a processor away {times}, for {max} at most: {apart} {frames} set \
             apart."
        ))
    }
}

fn why(flow: &FlowReport) -> String {
    format!("{} ({})", flow.facts.name, flow.breaches.join(", "))
}
